// Text of reports made to fit into fewer columns than it was written for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roofline::core {

/// Lines that are wider than `columns` broken: tables into blocks of whole columns one below the other, each with the
/// first columns, as many as tell its rows apart, all others at words, what follows under the last of the line's
/// columns that leaves room. Other lines stay as they are, and so does a word that is too long. Sequences that colour
/// text take no room.
[[nodiscard]] std::string narrowed(std::string_view text, std::size_t columns);

}  // namespace roofline::core
