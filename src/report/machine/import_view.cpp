#include "report/machine/import_view.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::string json(const ImportView& view) {
    nlohmann::ordered_json figures = nlohmann::ordered_json::array();
    for (const ImportedFigure& taken : view.taken) {
        nlohmann::ordered_json figure{{"figure", taken.path}, {"value", taken.value}, {"unit", taken.unit}};
        figure["base_value"] = taken.before ? nlohmann::ordered_json(*taken.before) : nlohmann::ordered_json();
        figure["measured_by"] = taken.from;
        figure["file"] = taken.file;
        figure["line"] = taken.line;
        figure["note"] = taken.note;
        figures.push_back(std::move(figure));
    }
    nlohmann::ordered_json root{{"schema", 1}, {"machine", view.id}, {"name", view.name}};
    root["base"] = view.base.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(view.base);
    root["file"] = view.output.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(view.output);
    root["figures"] = std::move(figures);
    root["notes"] = view.notes;
    return root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

/// Values have all digits if `exact` (for programs), else three (for people).
Table table_of(const ImportView& view, bool exact) {
    Table table;
    table.head = {"figure", "measured", view.base.empty() || exact ? "base" : view.base, "share", "by", "note"};
    if (exact) {
        table.head = {"figure", "value", "unit", "base_value", "measured_by", "file", "line", "note"};
        for (const ImportedFigure& taken : view.taken) {
            table.rows.push_back({taken.path, exact_text(taken.value), taken.unit,
                                  taken.before ? exact_text(*taken.before) : "", taken.from, taken.file,
                                  std::to_string(taken.line), taken.note});
        }
        return table;
    }
    for (const ImportedFigure& taken : view.taken) {
        table.rows.push_back({taken.path, taken.text, taken.before ? taken.before_text : "-",
                              taken.before ? percent_text(taken.value / *taken.before) + " %" : "-", taken.from,
                              taken.note});
    }
    table.right = {false, true, true, true};
    if (view.base.empty()) {
        table.head.erase(table.head.begin() + 2, table.head.begin() + 4);
        for (auto& row : table.rows) row.erase(row.begin() + 2, row.begin() + 4);
        table.right = {false, true};
    }
    return table;
}

std::string heading(const ImportView& view) {
    return fmt::format("{}: {} figure{} from {} file{}{}", view.name, view.taken.size(),
                       view.taken.size() == 1 ? "" : "s", view.files, view.files == 1 ? "" : "s",
                       view.base.empty() ? ", and nothing else" : "");
}

std::string ending(const ImportView& view) {
    return view.output.empty() ? "nothing is written: -o my.toml writes them to a machine file"
                               : fmt::format("written to {}: --on {}", view.output, view.output);
}

std::string text(const ImportView& view) {
    std::string out = heading(view) + "\n\n" + table_text(table_of(view, false), 2) + "\n  " + ending(view) + "\n";
    for (const std::string& note : view.notes) out += "  note: " + wrapped(note, 8, 4, page_width) + "\n";
    return out;
}

std::string markdown(const ImportView& view) {
    std::string out = heading(view) + "\n\n" + table_markdown(table_of(view, false)) + "\n" + ending(view) + "\n";
    if (!view.notes.empty()) out += "\n";
    for (const std::string& note : view.notes) out += fmt::format("- {}\n", note);
    return out;
}

}  // namespace

std::string import_view(const ImportView& view, Format format) {
    switch (format) {
        case Format::json:
            return json(view);
        case Format::csv:
            return table_csv(table_of(view, true));
        case Format::markdown:
            return markdown(view);
        case Format::text:
            break;
    }
    return text(view);
}

}  // namespace roofline::core
