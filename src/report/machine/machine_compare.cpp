// A comparison of several machines: one line per quantity, one column per machine.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report/machine/machine_json.hpp"
#include "report/machine/machine_rows.hpp"
#include "report/machine/machine_view.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// A line of the comparison with its sort key: the section, then the dtype or level.
struct Line {
    std::string path;
    int section = 0;
    int place = 0;
    std::size_t seen = 0;  ///< lines with equal keys keep the order in which the machines have them
};

struct Column {
    std::string title;
    std::vector<std::pair<Line, std::string>> cells;

    [[nodiscard]] std::string at(std::string_view path) const {
        for (const auto& [line, value] : cells) {
            if (line.path == path) return value;
        }
        return "";
    }
};

enum ComparedSection {
    machine_section,
    matmul_section,
    vector_section,
    memory_section,
    link_section,
    price_section,
    ridge_section
};

int level_place(const std::string& id) {
    return static_cast<int>(std::find(level_ids.begin(), level_ids.end(), id) - level_ids.begin());
}

Line line_of(const FigureRow& row) {
    const std::size_t dot = row.path.find('.');
    const std::string owner = row.path.substr(0, dot);
    if (row.group == "matmul" || row.group == "vector") {
        const std::string dtype = row.path.substr(dot + 1, row.path.find('/') - dot - 1);
        return {row.path, row.group == "matmul" ? matmul_section : vector_section,
                static_cast<int>(find_dtype(dtype).value_or(Dtype::f64))};
    }
    if (row.group == "memory") return {row.path, memory_section, level_place(owner)};
    if (row.group == "other") return {row.path, price_section, 0};
    return {row.path, link_section, row.group == "host" ? 0 : 1};
}

Column column_of(const Machine& machine, bool exact) {
    Column column{machine.id, {}};
    const auto add = [&](Line line, std::string value) {
        column.cells.emplace_back(std::move(line), std::move(value));
    };
    if (machine.year > 0) add({"year", machine_section}, std::to_string(machine.year));
    if (machine.cores > 0) add({"cores", machine_section}, std::to_string(machine.cores));
    for (const FigureRow& row : figure_rows(machine)) {
        if (row.value.text.empty() || row.group == "measured") continue;
        const bool weak = !row.what_if && (row.confidence == 'C' || row.confidence == 'D');
        add(line_of(row), exact ? row.value.exact : row.value.text + (weak ? "?" : ""));
    }
    if (machine.price) {
        add({"price", price_section, 1}, exact ? exact_text(machine.price->value * 3600) : to_text(*machine.price));
    }
    for (const RidgePoint& point : ridge_points(machine)) {
        const int place = static_cast<int>(point.dtype) * 100 + level_place(point.level);
        add({fmt::format("ridge.{}.{}", name(point.dtype), point.level), ridge_section, place},
            exact ? exact_text(point.flops_per_byte)
                  : number_text(point.flops_per_byte) + (point.low_confidence ? "?" : ""));
    }
    return column;
}

std::vector<std::string> all_paths(const std::vector<Column>& columns) {
    std::vector<Line> lines;
    for (const Column& column : columns) {
        for (const auto& [line, value] : column.cells) {
            const auto same = [&path = line.path](const Line& known) { return known.path == path; };
            if (std::any_of(lines.begin(), lines.end(), same)) continue;
            lines.push_back(line);
            lines.back().seen = lines.size();
        }
    }
    std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
        return std::tie(a.section, a.place, a.seen) < std::tie(b.section, b.place, b.seen);
    });
    std::vector<std::string> paths;
    for (Line& line : lines) paths.push_back(std::move(line.path));
    return paths;
}

Table side_by_side(const std::vector<Column>& columns, const std::vector<std::string>& paths, bool dashes) {
    Table table;
    table.head = {""};
    table.right = {false};
    for (const Column& column : columns) {
        table.head.push_back(column.title);
        table.right.push_back(true);
    }
    for (const std::string& path : paths) {
        std::vector<std::string> row{path};
        for (const Column& column : columns) {
            const std::string value = column.at(path);
            row.push_back(value.empty() && dashes ? "-" : value);
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

std::size_t column_width(const Column& column) {
    std::size_t widest = display_width(column.title);
    for (const auto& [line, value] : column.cells) widest = std::max(widest, display_width(value));
    return widest;
}

/// Splits the columns into blocks that fit the width of a page, one below the other.
std::string in_blocks(const std::vector<Column>& columns) {
    std::size_t labels = 0;
    for (const std::string& path : all_paths(columns)) labels = std::max(labels, display_width(path));
    std::string text;
    std::vector<Column> block;
    std::size_t taken = labels;
    const auto flush = [&] {
        if (!block.empty())
            text += (text.empty() ? "" : "\n") + table_text(side_by_side(block, all_paths(block), true));
        block.clear();
        taken = labels;
    };
    for (const Column& column : columns) {
        const std::size_t needed = column_width(column) + 2;
        if (taken + needed > page_width) flush();
        taken += needed;
        block.push_back(column);
    }
    flush();
    return text;
}

}  // namespace

std::string machine_compare(const std::vector<Machine>& machines, Format format) {
    if (format == Format::json) return machine_compare_json(machines);
    std::vector<Column> columns;
    for (const Machine& machine : machines) columns.push_back(column_of(machine, format == Format::csv));
    if (format == Format::text) {
        return in_blocks(columns) +
               "\nmatmul and vector: dense peaks. ridge: FLOP per byte. ? depends on a figure of confidence C or D.\n";
    }
    Table table = side_by_side(columns, all_paths(columns), false);
    if (format == Format::markdown) return table_markdown(table);
    table.head.front() = "figure";
    return table_csv(table);
}

}  // namespace roofline::core
