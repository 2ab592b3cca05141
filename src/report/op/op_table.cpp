#include "report/op/op_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/op/op_cells.hpp"
#include "report/op/op_figures.hpp"
#include "report/table.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// Returns the bytes, or their formula if sizes are missing.
std::string bytes_text(const Prediction& answer, const std::string& level) {
    const auto traffic = answer.analysis.total.work.memory.find(level);
    if (traffic == answer.analysis.total.work.memory.end()) return "-";
    const Polynomial total = traffic->second.total();
    const auto bytes = count(answer.program, total);
    return bytes ? to_text(Bytes{bytes->to_double()}) : shown(answer, total).to_handwriting(answer.program.dims);
}

}  // namespace

std::string op_table(const std::vector<Prediction>& answers, Format format) {
    std::vector<OpPart> parts;
    for (const Prediction& answer : answers) parts.push_back({answer, answer.analysis.total, resources_of(answers)});
    if (format == Format::csv) return table_csv(figure_table(op_figures(), op_columns(), parts));
    Table table =
        comparison_table(op_figures(), op_lines(), parts, [](const OpPart& part) { return system_name(part.answer); });
    std::vector<std::vector<std::string>> by_resource;
    const auto row = [&](std::string label, auto&& cell) {
        std::vector<std::string> cells{std::move(label)};
        for (const Prediction& answer : answers) cells.push_back(cell(answer));
        by_resource.push_back(std::move(cells));
    };
    for (const std::string& level : all_of(answers, levels_of)) {
        row(resource_label(answers, level) + " bytes",
            [&](const Prediction& answer) { return bytes_text(answer, level); });
    }
    for (const std::string& id : resources_of(answers)) {
        row(resource_label(answers, id) + " time", [&](const Prediction& answer) {
            return figures::value_text(figure_value(answer.analysis.total.seconds_of(id)), in_seconds);
        });
    }
    table.rows.insert(table.rows.begin() + 1, by_resource.begin(), by_resource.end());
    std::string text = render(table, format);
    return text + notes_text(answers);
}

}  // namespace roofline::core
