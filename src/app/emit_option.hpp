// The option --emit of all commands that have a plan.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "report/format.hpp"

namespace roofline::core {

/// Checks --emit, which may be "". Errors: no such framework, or one that serves where `trains` or the other way round;
/// several machines; output that is neither text nor JSON; other views of the answer (`viewed`) in text.
[[nodiscard]] Status check_emit(const std::string& framework, bool trains, std::size_t machines, Format format,
                                bool viewed);

}  // namespace roofline::core
