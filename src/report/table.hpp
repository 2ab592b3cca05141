// A table of strings and its three printed forms.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace roofline::core {

/// Width in characters of output for people.
inline constexpr std::size_t page_width = 100;
inline constexpr std::size_t max_line_width = 120;  ///< of a quantity with its remark, which people search by line

struct Table {
    std::vector<std::string> head;
    std::vector<std::vector<std::string>> rows;  ///< as long as `head`; shorter rows are padded with empty cells
    std::vector<bool> right;                     ///< right-aligned columns; columns beyond its end are left-aligned
    /// The exact values of cells, "3.8820298e-05 s", for forms that show them beside the text; "", or missing, of a
    /// cell that has none.
    std::vector<std::vector<std::string>> exact{};
};

/// Returns a number with all digits and a unit: "3.8820298e-05 s".
[[nodiscard]] std::string exact_number(double value, std::string_view unit = {});

/// Adds a row to a table cell by cell, with the exact values of numbers.
class TableRow {
public:
    explicit TableRow(Table& table) : table_(table) {
        table.rows.emplace_back();
        table.exact.resize(table.rows.size());
    }

    /// `whole` is the text of a cell that was cut.
    TableRow& text(std::string cell, std::string_view whole = {});
    /// `unit` is that of the exact value: "s".
    TableRow& number(std::string cell, double exact, std::string_view unit = {});

private:
    Table& table_;
};

/// Returns the first rows of a table.
[[nodiscard]] Table first_rows(Table table, std::size_t most);

/// Returns the table as text: columns are two spaces apart, and each line is indented by `indent` spaces. No cell is
/// cut.
[[nodiscard]] std::string table_text(const Table& table, std::size_t indent = 0);
[[nodiscard]] std::string table_markdown(const Table& table);
/// Returns the table as CSV by RFC 4180, with lines that end in "\n".
[[nodiscard]] std::string table_csv(const Table& table);

/// Returns the number of characters of a UTF-8 text as displayed.
[[nodiscard]] std::size_t display_width(std::string_view text);
/// Returns at most `width` characters; if something was cut, the last three are dots.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t width);
/// Wraps a text at words to lines of at most `width` characters; the first line begins at column `first`, all others
/// are indented by `indent` spaces. Longer words are not broken.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t first, std::size_t indent, std::size_t width);

}  // namespace roofline::core
