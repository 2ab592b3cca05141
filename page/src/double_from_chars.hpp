// std::from_chars for double, which libc++ has from version 20 on. It is included before every source of
// the page's core (cmake/page.cmake).
#pragma once

#include <charconv>

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
// NOLINTNEXTLINE(cert-dcl58-cpp): the standard library of later versions declares it
namespace std {
/// Reads a decimal number; the nearest double, as the standard says. Other formats than `general` are not there.
from_chars_result from_chars(const char* first, const char* last, double& value);
}  // namespace std
#endif
