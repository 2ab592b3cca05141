#include "report/op/op_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/op/op_cells.hpp"
#include "report/op/op_figures.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

std::optional<double> bytes_of(const Prediction& answer, const std::string& level) {
    const auto traffic = answer.analysis.total.work.memory.find(level);
    if (traffic == answer.analysis.total.work.memory.end()) return std::nullopt;
    const auto bytes = count(answer.program, traffic->second.total());
    return bytes ? std::optional(bytes->to_double()) : std::nullopt;
}

// Returns the bytes, or their formula if sizes are missing.
std::string bytes_text(const Prediction& answer, const std::string& level) {
    const auto traffic = answer.analysis.total.work.memory.find(level);
    if (traffic == answer.analysis.total.work.memory.end()) return "-";
    const Polynomial total = traffic->second.total();
    const auto bytes = count(answer.program, total);
    return bytes ? to_text(Bytes{bytes->to_double()}) : shown(answer, total).to_handwriting(answer.program.dims);
}

std::vector<OpPart> parts_of(const std::vector<Prediction>& answers) {
    std::vector<OpPart> parts;
    for (const Prediction& answer : answers) parts.push_back({answer, answer.analysis.total, resources_of(answers)});
    return parts;
}

}  // namespace

Table op_comparison(const std::vector<Prediction>& answers) {
    const std::vector<OpPart> parts = parts_of(answers);
    Table table =
        comparison_table(op_figures(), op_lines(), parts, [](const OpPart& part) { return system_name(part.answer); });
    Table by_resource;
    const auto row = [&](std::string label, auto&& cell, const auto& number, std::string_view unit) {
        TableRow cells(by_resource);
        cells.text(std::move(label));
        for (const Prediction& answer : answers) {
            const std::optional<double> exact = number(answer);
            if (exact) {
                cells.number(cell(answer), *exact, unit);
            } else {
                cells.text(cell(answer));
            }
        }
    };
    for (const std::string& level : all_of(answers, levels_of)) {
        row(
            resource_label(answers, level) + " bytes",
            [&](const Prediction& answer) { return bytes_text(answer, level); },
            [&](const Prediction& answer) { return bytes_of(answer, level); }, "B");
    }
    for (const std::string& id : resources_of(answers)) {
        const auto seconds = [&](const Prediction& answer) { return answer.analysis.total.seconds_of(id); };
        row(
            resource_label(answers, id) + " time",
            [&](const Prediction& answer) { return figures::value_text(figure_value(seconds(answer)), in_seconds); },
            seconds, "s");
    }
    table.rows.insert(table.rows.begin() + 1, by_resource.rows.begin(), by_resource.rows.end());
    by_resource.exact.resize(by_resource.rows.size());
    table.exact.insert(table.exact.begin() + 1, by_resource.exact.begin(), by_resource.exact.end());
    return table;
}

std::string op_table(const std::vector<Prediction>& answers, Format format) {
    if (format == Format::csv) return table_csv(figure_table(op_figures(), op_columns(), parts_of(answers)));
    return render(op_comparison(answers), format) + notes_text(answers);
}

}  // namespace roofline::core
