// A table of texts, and its three printed forms.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace roofline::core {

/// Characters on a line of what is printed for people.
inline constexpr std::size_t page_width = 100;

struct Table {
    std::vector<std::string> head;
    std::vector<std::vector<std::string>> rows;  ///< as long as `head`; shorter rows end in empty cells
    std::vector<bool> right;                     ///< columns that are set flush right; missing ones are flush left
};

/// Columns two spaces apart, each line after `indent` spaces. No cell is cut.
[[nodiscard]] std::string table_text(const Table& table, std::size_t indent = 0);
[[nodiscard]] std::string table_markdown(const Table& table);
/// RFC 4180, lines end in "\n".
[[nodiscard]] std::string table_csv(const Table& table);

/// Characters of a UTF-8 text.
[[nodiscard]] std::size_t display_width(std::string_view text);
/// At most `width` characters, the last three of them dots when something was cut.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t width);
/// Words on lines of at most `width` characters, every line after the first behind `indent` spaces. Longer words stay
/// whole.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t first, std::size_t indent, std::size_t width);

}  // namespace roofline::core
