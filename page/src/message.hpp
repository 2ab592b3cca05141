// How questions come from JavaScript and answers go there: lists of strings of bytes in the memory of WebAssembly.
// A list is its number of strings, and each string its number of bytes and these; numbers have 32 bits, little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roofline::page {

/// Returns the strings of a list, as views of it; those that are there of one that is cut off.
[[nodiscard]] std::vector<std::string_view> strings_of(std::string_view list);

/// Returns the list of these strings.
[[nodiscard]] std::string list_of(const std::vector<std::string_view>& strings);

}  // namespace roofline::page
