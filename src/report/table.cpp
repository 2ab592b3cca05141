#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/utf8.hpp"

namespace roofline::core {

namespace {

std::string_view cell(const std::vector<std::string>& row, std::size_t column) {
    return column < row.size() ? std::string_view(row[column]) : std::string_view();
}

/// Whether a spreadsheet would evaluate the cell: it begins like a formula and is neither a number nor a mark.
bool is_spreadsheet_formula(std::string_view text) {
    if (text.size() < 2 || std::string_view("=+-@\t\r").find(text.front()) == std::string_view::npos) return false;
    const std::string_view digits = text.substr(text.front() == '+' ? 1 : 0);
    double number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const std::string_view rest = digits.substr(static_cast<std::size_t>(end - digits.data()));
    return error != std::errc{} || !(rest.empty() || rest == "%" || rest == " %");
}

std::string csv_cell(std::string_view text) {
    if (is_spreadsheet_formula(text)) return csv_cell("'" + std::string(text));
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

std::string markdown_cell(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '|' || c == '\\' || c == '*' || c == '_' || c == '<' || c == '`' || c == '[') escaped += '\\';
        escaped += c == '\n' ? ' ' : c;
    }
    return escaped;
}

}  // namespace

std::string exact_number(double value, std::string_view unit) {
    return fmt::format("{}{}{}", value, unit.empty() ? "" : " ", unit);
}

TableRow& TableRow::text(std::string cell, std::string_view whole) {
    if (!whole.empty() && whole != cell) {
        table_.exact.back().resize(table_.rows.back().size());
        table_.exact.back().emplace_back(whole);
    }
    table_.rows.back().push_back(std::move(cell));
    return *this;
}

TableRow& TableRow::number(std::string cell, double exact, std::string_view unit) {
    std::vector<std::string>& row = table_.exact.back();
    row.resize(table_.rows.back().size());
    row.push_back(exact_number(exact, unit));
    return text(std::move(cell));
}

Table first_rows(Table table, std::size_t most) {
    if (table.rows.size() > most) table.rows.resize(most);
    if (table.exact.size() > most) table.exact.resize(most);
    return table;
}

std::size_t display_width(std::string_view text) {
    const auto width = [](std::string_view shown) {
        return static_cast<std::size_t>(
            std::count_if(shown.begin(), shown.end(), [](char c) { return !continues_character(c); }));
    };
    // Bidirectional control characters are printed as escape sequences.
    const bool any = text.find_first_of("\xD8\xE2") != std::string_view::npos;
    return any ? width(with_directions_shown(text)) : width(text);
}

std::string fitted(std::string_view text, std::size_t width) {
    if (display_width(text) <= width || width < 4) return std::string(text);
    std::size_t end = 0;
    std::size_t taken = 0;
    while (end < text.size()) {
        if (!continues_character(text[end]) && taken++ == width - 3) break;
        ++end;
    }
    return std::string(text.substr(0, end)) + "...";
}

std::string wrapped(std::string_view text, std::size_t first, std::size_t indent, std::size_t width) {
    std::string result;
    std::size_t column = first;
    bool line_begins = true;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (word.empty()) continue;
        const std::size_t length = display_width(word);
        if (!line_begins && column + 1 + length > width) {
            result += "\n" + std::string(indent, ' ');
            column = indent;
            line_begins = true;
        }
        if (!line_begins) {
            result += ' ';
            ++column;
        }
        result += word;
        column += length;
        line_begins = false;
    }
    return result;
}

std::string table_text(const Table& table, std::size_t indent) {
    std::vector<std::size_t> widths(table.head.size(), 0);
    const auto measure = [&](const std::vector<std::string>& row) {
        for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], display_width(cell(row, i)));
    };
    measure(table.head);
    for (const auto& row : table.rows) measure(row);
    std::string result;
    const auto print = [&](const std::vector<std::string>& row) {
        std::string line(indent, ' ');
        for (std::size_t i = 0; i < widths.size(); ++i) {
            const std::string_view text = cell(row, i);
            const std::string padding(widths[i] - display_width(text), ' ');
            const bool right = i < table.right.size() && table.right[i];
            if (i > 0) line += "  ";
            if (right) line += padding;
            line += text;
            if (!right) line += padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        result += line + "\n";
    };
    print(table.head);
    for (const auto& row : table.rows) print(row);
    return result;
}

std::string table_markdown(const Table& table) {
    std::string result;
    const auto print = [&](const std::vector<std::string>& row) {
        result += "|";
        for (std::size_t i = 0; i < table.head.size(); ++i) result += " " + markdown_cell(cell(row, i)) + " |";
        result += "\n";
    };
    print(table.head);
    result += "|";
    for (std::size_t i = 0; i < table.head.size(); ++i) {
        result += i < table.right.size() && table.right[i] ? "---:|" : "---|";
    }
    result += "\n";
    for (const auto& row : table.rows) print(row);
    return result;
}

std::string table_csv(const Table& table) {
    std::string result;
    const auto print = [&](const std::vector<std::string>& row) {
        for (std::size_t i = 0; i < table.head.size(); ++i) {
            if (i > 0) result += ",";
            result += csv_cell(cell(row, i));
        }
        result += "\n";
    };
    print(table.head);
    for (const auto& row : table.rows) print(row);
    return result;
}

std::vector<std::string> notes_for_screen(std::vector<std::string> notes) {
    const auto extrapolated =
        std::erase_if(notes, [](const std::string& note) { return note.starts_with("extrapolated:"); });
    if (extrapolated > 0) {
        notes.emplace_back("some sizes are outside the measured range, which the errors include; --json says how far");
    }
    return notes;
}

}  // namespace roofline::core
