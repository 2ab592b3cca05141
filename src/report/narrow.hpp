// Fits the text of a report into fewer columns than it was written for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roofline::core {

/// Breaks all lines that are wider than `columns`. Tables are split into stacked blocks of whole columns, each of which
/// repeats as many leading columns as make its rows distinct. Other lines are broken between words, and their
/// continuations are indented to the last column of the line that leaves enough room. Narrower lines and words that are
/// too long stay as they are. Colour escape sequences have no width.
[[nodiscard]] std::string narrowed(std::string_view text, std::size_t columns);

}  // namespace roofline::core
