#include "report/validate/comparison_figures.hpp"

#include <algorithm>

#include "report/validate/validation_report.hpp"

namespace roofline::core {

namespace {

using Json = FigureValue;
using Row = const Comparison&;

constexpr NumberText none = nullptr;

template <auto text>
Json name_of(Row row) {
    return optional_string(row.*text);
}

template <auto part>
Json step_part(Row row) {
    return row.parts ? Json((*row.parts).*part) : Json();
}

template <auto part>
Json memory(Row row) {
    return row.memory ? Json((*row.memory).*part) : Json();
}

std::string operation_words(Row row) {
    return display_name(row.operation) + (row.shape.empty() ? "" : " " + row.dtype);
}

std::string size_cell(Row row) { return row.shape.empty() ? in_bytes(row.bytes) : row.shape; }

std::string measured_words(Row row) { return row.timed() ? in_seconds(row.measured_s) : "-"; }

std::string software_cell(Row row) { return row.software + (row.variant.empty() ? "" : " " + row.variant); }

constexpr AnswerFigure<Comparison> all[] = {
    {"line", "line", in_whole, [](Row row) -> Json { return row.line > 0 ? Json(row.line) : Json(); }},
    {"system", "", none, [](Row row) -> Json { return row.system; }},
    {"slice", "slice", none, [](Row row) -> Json { return row.slice; }},
    {"operation", "operation", none, [](Row row) -> Json { return row.operation; }, operation_words},
    {"devices", "", in_whole, [](Row row) -> Json { return row.devices; }},
    {"#groups", "", in_whole, [](Row row) -> Json { return row.groups; }},
    {"bytes", "size", in_bytes, [](Row row) -> Json { return row.bytes; }, size_cell},
    {"shape", "", none, name_of<&Comparison::shape>},
    {"dtype", "", none, name_of<&Comparison::dtype>},
    {"software", "software", none, name_of<&Comparison::software>, software_cell},
    {"variant", "", none, name_of<&Comparison::variant>},
    {"source", "", none, name_of<&Comparison::source>},
    {"model", "", none, name_of<&Comparison::model>},
    {"mode", "", none, name_of<&Comparison::mode>},
    {"strategy", "", none, name_of<&Comparison::strategy>},
    {"measured_s", "measured", in_seconds, [](Row row) -> Json { return row.measured_s; }, measured_words},
    {"#rounding_s", "", in_seconds, [](Row row) -> Json { return row.rounding_s; }},
    {"lower_s", "lower", in_seconds, [](Row row) -> Json { return row.prediction.lower_s; }},
    {"expected_s", "expected", in_seconds, [](Row row) { return figure_value(row.prediction.expected_s); }},
    {"expected_error", "", in_percent, [](Row row) { return figure_value(row.prediction.expected_error); }},
    {"not_expected", "", none, name_of<&Comparison::not_expected>},
    {"error", "error", in_percent, [](Row row) { return row.timed() ? Json(row.error()) : Json(); },
     [](Row row) { return in_percent(row.error()); }},
    {"#below_lower", "", none, [](Row row) -> Json { return row.below_lower(); }},
    {"#cached", "", none, [](Row row) -> Json { return row.cached(); }},
    {"memory", "", none, [](Row row) { return group_value(row.memory.has_value()); }},
    {"memory.measured_bytes", "", in_bytes, memory<&MemoryComparison::measured>},
    {"memory.predicted_bytes", "", in_bytes, memory<&MemoryComparison::predicted>},
    {"memory.what", "", none, [](Row row) { return row.memory ? optional_string(row.memory->what) : Json(); }},
    {"#kernels_s", "", in_seconds, step_part<&StepParts::kernels_s>},
    {"#narrow_s", "", in_seconds, step_part<&StepParts::narrow_s>},
    {"#promoted_s", "", in_seconds, step_part<&StepParts::promoted_s>},
    {"#launches", "", in_whole, step_part<&StepParts::launches>},
    {"#hideable_s", "", in_seconds, step_part<&StepParts::overlappable_s>},
    {"#exchanged_s", "", in_seconds, step_part<&StepParts::exchanged_s>},
    {"#hideable_wire_s", "", in_seconds, step_part<&StepParts::overlappable_wire_s>},
    {"#exchanged_wire_s", "", in_seconds, step_part<&StepParts::exchanged_wire_s>},
    {"#flops_per_joule", "", in_three_digits, step_part<&StepParts::flops_per_joule>},
    {"#pytorch", "", none, step_part<&StepParts::pytorch>},
    {"#in_turn", "", none, step_part<&StepParts::in_turn>},
    {"#experts", "", none, step_part<&StepParts::experts>},
    {"#compiled", "", none, step_part<&StepParts::compiled>},
};

constexpr FigureColumn columns[] = {{"line"},
                                    {"system"},
                                    {"slice"},
                                    {"operation"},
                                    {"dtype"},
                                    {"devices"},
                                    {"#groups"},
                                    {"bytes"},
                                    {"software"},
                                    {"variant"},
                                    {"measured_s"},
                                    {"#rounding_s"},
                                    {"lower_s"},
                                    {"expected_s"},
                                    {"expected_error"},
                                    {"error"},
                                    {"#below_lower"},
                                    {"shape"},
                                    {"#cached"},
                                    {"source"},
                                    {"strategy"},
                                    {"memory.measured_bytes", "memory_bytes"},
                                    {"memory.predicted_bytes", "memory_predicted_bytes"},
                                    {"#kernels_s"},
                                    {"#narrow_s"},
                                    {"#promoted_s"},
                                    {"#launches"},
                                    {"#hideable_s"},
                                    {"#exchanged_s"},
                                    {"#hideable_wire_s"},
                                    {"#exchanged_wire_s"},
                                    {"#flops_per_joule"},
                                    {"#pytorch"},
                                    {"#in_turn"},
                                    {"#experts"},
                                    {"#compiled"},
                                    {"model"},
                                    {"mode"},
                                    {"not_expected"}};
static_assert(named(all, columns));

}  // namespace

std::string display_name(std::string operation) {
    std::replace(operation.begin(), operation.end(), '_', '-');
    return operation;
}

Table comparison_rows(const std::vector<Comparison>& rows, bool expected) {
    std::vector<FigureColumn> shown;
    for (const char* key :
         {"line", "slice", "operation", "bytes", "measured_s", "lower_s", "expected_s", "error", "software"}) {
        const auto& figure = find_figure(all, key);
        const bool lines = std::any_of(rows.begin(), rows.end(), [](Row row) { return row.line > 0; });
        if (figure.key == "line" && !lines) continue;
        if (expected || figure.key != "expected_s") shown.push_back({figure.key, figure.label, true});
    }
    return figure_table(all, shown, rows);
}

FigureValue comparison_json(const Comparison& row) { return json_of(all, row); }

std::string validation_csv(const Validation& validation) {
    return table_csv(figure_table(all, columns, validation.rows, {0, "1", "0"}));
}

}  // namespace roofline::core
