#include "report/narrow.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "base/utf8.hpp"
#include "report/table.hpp"

namespace roofline::core {

namespace {

using Lines = std::vector<std::string>;

/// Returns the length in bytes of the colour escape sequence at `at`; 0 if there is none.
std::size_t colour_at(std::string_view text, std::size_t at) {
    if (text.substr(at, 2) != "\x1b[") return 0;
    const std::size_t end = text.find('m', at);
    return end == std::string_view::npos ? 0 : end + 1 - at;
}

std::size_t shown_width(std::string_view text) {
    std::size_t width = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t colour = colour_at(text, at);
        if (colour == 0 && !continues_character(text[at])) ++width;
        at += std::max<std::size_t>(colour, 1);
    }
    return width;
}

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

/// Returns the indentation of continuation lines: the last column of the line that begins in the first two thirds of
/// the width.
std::size_t continuation_indent(std::string_view line, std::size_t columns) {
    std::size_t last = indent_of(line) + 2;
    if (line.substr(indent_of(line)).starts_with("note: ")) return indent_of(line) + 6;
    for (std::size_t at = line.find("  ", indent_of(line)); at != std::string_view::npos; at = line.find("  ", at)) {
        const std::size_t begins = line.find_first_not_of(' ', at);
        if (begins == std::string_view::npos || begins > columns * 2 / 3) break;
        at = last = begins;
    }
    return last;
}

/// Returns the position of the blank at which to break a line: the last one within the width, or else the first one
/// after it; npos if there is none.
std::size_t break_position(std::string_view line, std::size_t columns) {
    std::size_t blank = std::string_view::npos;
    std::size_t width = 0;
    for (std::size_t at = 0; at < line.size() && (width <= columns || blank == std::string_view::npos);) {
        if (line[at] == ' ' && at > indent_of(line)) blank = at;
        const std::size_t colour = colour_at(line, at);
        if (colour == 0 && !continues_character(line[at])) ++width;
        at += std::max<std::size_t>(colour, 1);
    }
    return blank;
}

std::string broken(std::string line, std::size_t columns) {
    const std::string indent(continuation_indent(line, columns), ' ');
    std::string text;
    while (shown_width(line) > columns) {
        const std::size_t blank = break_position(line, columns);
        const std::size_t next = line.find_first_not_of(' ', blank);
        if (blank == std::string::npos || next == std::string::npos) break;
        text += line.substr(0, line.find_last_not_of(' ', blank) + 1) + '\n';
        line.replace(0, next, indent);
    }
    return text + line;
}

/// Returns where the columns of a table begin: after two or more positions that are blank in all lines.
std::vector<std::size_t> columns_of(const Lines& lines) {
    std::size_t width = 0;
    for (const std::string& line : lines) width = std::max(width, line.size());
    std::vector<std::size_t> begins;
    std::size_t blanks = 2;
    for (std::size_t at = 0; at < width; ++at) {
        const bool blank = std::all_of(lines.begin(), lines.end(),
                                       [&](const auto& line) { return at >= line.size() || line[at] == ' '; });
        if (!blank && blanks >= 2) begins.push_back(at);
        blanks = blank ? blanks + 1 : 0;
    }
    return begins;
}

/// Returns how many leading columns are needed to make all rows distinct: at least one, and fewer than all.
std::size_t key_column_count(const Lines& lines, const std::vector<std::size_t>& begins) {
    for (std::size_t columns = 1; columns + 1 < begins.size(); ++columns) {
        std::set<std::string> rows;
        for (const std::string& line : lines) rows.insert(line.substr(0, begins[columns]));
        if (rows.size() == lines.size()) return columns;
    }
    return 1;
}

/// Splits a table into blocks of columns. Each block repeats the leading columns that make its rows distinct.
std::string in_blocks(const Lines& lines, const std::vector<std::size_t>& begins, std::size_t columns) {
    const auto end = [&](std::size_t i) { return i + 1 < begins.size() ? begins[i + 1] : std::string::npos; };
    const auto width = [&](std::size_t i) {  // without trailing blanks
        std::size_t widest = 0;
        for (const std::string& line : lines) {
            if (begins[i] >= line.size()) continue;
            const std::string cell = line.substr(begins[i], end(i) - begins[i]);
            widest = std::max(widest, cell.find_last_not_of(' ') + 1);
        }
        return widest;
    };
    const std::size_t first = key_column_count(lines, begins);
    std::string text;
    for (std::size_t from = first; from < begins.size();) {
        std::size_t to = from;
        std::size_t taken = begins[first];
        while (to < begins.size() && (to == from || taken + width(to) <= columns)) {
            if (end(to) != std::string::npos) taken += end(to) - begins[to];
            ++to;
        }
        if (!text.empty()) text += '\n';
        for (const std::string& line : lines) {
            std::string row = line.substr(0, std::min(begins[first], line.size()));
            row.resize(begins[first], ' ');
            for (std::size_t i = from; i < to; ++i) {
                if (begins[i] < line.size()) row += line.substr(begins[i], end(i) - begins[i]);
            }
            row.erase(row.find_last_not_of(' ') + 1);
            text += row + '\n';
        }
        from = to;
    }
    return text;
}

/// Narrows a run of non-empty lines.
std::string narrowed_paragraph(const Lines& lines, std::size_t columns) {
    const auto wide = [&](const std::string& line) { return shown_width(line) > columns; };
    std::string text;
    if (std::none_of(lines.begin(), lines.end(), wide)) {
        for (const std::string& line : lines) text += line + '\n';
        return text;
    }
    // A heading above the table is not one of its rows.
    const auto spaced = [](const std::string& line) { return line.find("  ", indent_of(line)) != std::string::npos; };
    if (lines.size() > 2 && !wide(lines[0]) && !spaced(lines[0]) && spaced(lines[1])) {
        return lines[0] + '\n' + narrowed_paragraph({lines.begin() + 1, lines.end()}, columns);
    }
    const bool plain = std::none_of(lines.begin(), lines.end(), [](const std::string& line) {
        return std::any_of(line.begin(), line.end(),
                           [](char c) { return static_cast<unsigned char>(c) >= 0x80 || c == '\x1b'; });
    });
    const std::vector<std::size_t> begins = columns_of(lines);
    constexpr std::size_t least_columns = 5;  // listings of values with remarks have fewer columns
    if (plain && lines.size() > 1 && begins.size() >= least_columns && begins.back() > columns * 2 / 3) {
        return in_blocks(lines, begins, columns);
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::string line = lines[i];
        if (wide(line)) {
            // Lines that were wrapped for a wider page are joined before they are wrapped again.
            const std::size_t indent = continuation_indent(line, columns);
            while (i + 1 < lines.size() && indent_of(lines[i + 1]) == indent &&
                   lines[i + 1].find("  ", indent) == std::string::npos) {
                line += ' ' + lines[++i].substr(indent);
            }
        }
        text += broken(line, columns) + '\n';
    }
    return text;
}

}  // namespace

std::string narrowed(std::string_view text, std::size_t columns) {
    std::string result;
    Lines run;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!line.empty()) {
            run.emplace_back(line);
            if (!text.empty()) continue;
        }
        result += narrowed_paragraph(run, columns);
        run.clear();
        if (line.empty()) result += '\n';
    }
    return result;
}

}  // namespace roofline::core
