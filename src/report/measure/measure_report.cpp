#include "report/measure/measure_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#ifndef JSON_NOEXCEPTION
#define JSON_NOEXCEPTION
#endif
#include <nlohmann/json.hpp>

#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t text_width = 100;

Table shown(const MeasuredTable& from) {
    Table table;
    for (std::size_t i = 0; i < from.columns.size(); ++i) {
        table.head.push_back(from.columns[i].head);
        const bool numbers = std::any_of(from.rows.begin(), from.rows.end(), [&](const auto& row) {
            return i < row.size() && row[i].kind == MeasuredCell::Kind::number;
        });
        table.right.push_back(numbers);
    }
    for (const auto& row : from.rows) {
        std::vector<std::string> cells;
        for (const MeasuredCell& cell : row) {
            cells.push_back(cell.kind == MeasuredCell::Kind::none ? "-" : cell.text);
        }
        table.rows.push_back(std::move(cells));
    }
    return table;
}

std::string report_text(const MeasureReport& report, bool color) {
    const auto bold = [&](const std::string& text) { return color ? "\x1b[1m" + text + "\x1b[0m" : text; };
    std::string out = bold(report.title) + "\n";
    out += fmt::format("  {}{}{}\n", report.method, report.date.empty() ? "" : ", ", report.date);
    if (!report.warnings.empty()) out += "\n";
    for (const std::string& warning : report.warnings) {
        out += "  " + bold("warning: ") + wrapped(warning, 11, 11, text_width) + "\n";
    }
    for (const MeasuredTable& table : report.tables) {
        if (table.rows.empty() || table.detail) continue;
        out += "\n  " + bold(table.title) + "\n" + table_text(shown(table), 4);
        for (const std::string& remark : table.remarks) out += "    " + wrapped(remark, 4, 4, text_width) + "\n";
    }
    if (!report.notes.empty()) out += "\n";
    for (const std::string& note : report.notes) out += "  note: " + wrapped(note, 8, 8, text_width) + "\n";
    if (!report.file.empty()) out += fmt::format("\n  written to {}\n", report.file);
    if (!report.next.empty()) out += fmt::format("  {}\n", report.next);
    return out;
}

Json json_cell(const MeasuredCell& cell) {
    switch (cell.kind) {
        case MeasuredCell::Kind::text:
            return cell.text;
        case MeasuredCell::Kind::number:
            return cell.number;
        case MeasuredCell::Kind::none:
            break;
    }
    return nullptr;
}

std::string report_json(const MeasureReport& report) {
    Json json{{"schema", 1},
              {"machine", report.machine},
              {"name", report.title},
              {"date", report.date},
              {"method", report.method}};
    for (const MeasuredTable& table : report.tables) {
        Json rows = Json::array();
        for (const auto& row : table.rows) {
            Json object = Json::object();
            for (std::size_t i = 0; i < row.size() && i < table.columns.size(); ++i) {
                object[table.columns[i].key] = json_cell(row[i]);
            }
            rows.push_back(std::move(object));
        }
        json[table.key] = std::move(rows);
    }
    json["warnings"] = report.warnings;
    json["notes"] = report.notes;
    json["file"] = report.file.empty() ? Json(nullptr) : Json(report.file);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Merges tables with different columns into one long table with a row per cell.
std::string report_csv(const MeasureReport& report) {
    Table long_table{{"table", "row", "column", "value"}, {}, {}};
    for (const MeasuredTable& table : report.tables) {
        for (std::size_t i = 0; i < table.rows.size(); ++i) {
            const auto& row = table.rows[i];
            for (std::size_t k = 0; k < row.size() && k < table.columns.size(); ++k) {
                if (row[k].kind == MeasuredCell::Kind::none) continue;
                const bool number = row[k].kind == MeasuredCell::Kind::number;
                long_table.rows.push_back({table.key, std::to_string(i), table.columns[k].key,
                                           number ? exact_text(row[k].number) : row[k].text});
            }
        }
    }
    return table_csv(long_table);
}

std::string report_markdown(const MeasureReport& report) {
    std::string out = fmt::format("## {}\n\n{}, {}\n", report.title, report.method, report.date);
    for (const std::string& warning : report.warnings) out += "\n**Warning:** " + warning + "\n";
    for (const MeasuredTable& table : report.tables) {
        if (table.rows.empty()) continue;
        out += "\n### " + table.title + "\n\n" + table_markdown(shown(table));
        for (const std::string& remark : table.remarks) out += "\n" + remark + "\n";
    }
    if (!report.notes.empty()) out += "\n";
    for (const std::string& note : report.notes) out += "- " + note + "\n";
    return out;
}

}  // namespace

MeasuredCell measured_text(std::string text) { return {std::move(text), 0, MeasuredCell::Kind::text}; }

MeasuredCell measured_number(std::string text, double number) {
    return {std::move(text), number, MeasuredCell::Kind::number};
}

std::string measure_report(const MeasureReport& report, Format format, bool color) {
    switch (format) {
        case Format::json:
            return report_json(report);
        case Format::csv:
            return report_csv(report);
        case Format::markdown:
            return report_markdown(report);
        case Format::text:
            break;
    }
    return report_text(report, color);
}

}  // namespace roofline::core
