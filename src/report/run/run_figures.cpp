#include "report/run/run_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/op/op_json.hpp"
#include "report/run/spread_json.hpp"

namespace roofline::core {

namespace {

using Json = FigureValue;

constexpr NumberText none = nullptr;

Json swept_json(const RunAt& at) {
    Json swept = Json::object();
    for (std::size_t i = 0; i < at.answer.axes.size(); ++i) {
        for (const std::string& dim : at.answer.axes[i].dims) swept[dim] = at.point.at[i];
    }
    return swept;
}

template <auto time>
Json predicted_bound(const RunAt& at) {
    return at.point.answer ? Json(at.point.answer->analysis.total.bounds.*time) : Json();
}

Json expected_s(const RunAt& at) { return at.point.answer ? figure_value(at.point.answer->expected_s) : Json(); }

const Resource* bound_of(const RunAt& at) {
    return at.point.answer ? at.point.answer->analysis.total.bound_resource() : nullptr;
}

Json roofline_fraction(const RunAt& at) {
    return at.point.answer ? Json(at.point.answer->analysis.total.bounds.lower / at.point.cold.median) : Json();
}

std::string measured_words(const RunAt& at) {
    return in_seconds(at.point.cold.median) + (at.point.cold.disturbed ? " ?" : "");
}

std::string expected_words(const RunAt& at) {
    return at.point.answer && at.point.answer->expected_s ? in_seconds(*at.point.answer->expected_s) : "";
}

std::string bound_cell(const RunAt& at) { return bound_of(at) == nullptr ? "" : bound_of(at)->label; }

std::string error_words(const RunAt& at) {
    return at.point.right() ? fmt::format("{:.0e}", at.point.max_rel_error) : "WRONG";
}

constexpr AnswerFigure<RunAt> all[] = {
    {"swept", "", in_whole, [](const RunAt& at) { return at.answer.axes.empty() ? omitted_value() : swept_json(at); }},
    {"device", "", none, [](const RunAt& at) -> Json { return at.answer.device; }},
    {"measured_s", "measured", in_seconds, [](const RunAt& at) -> Json { return at.point.cold.median; },
     measured_words},
    {"measured_spread", "", none, [](const RunAt& at) { return spread_json(at.point.cold); }},
    {"measured_spread.p5", "", in_seconds, nullptr},
    {"measured_spread.p95", "", in_seconds, nullptr},
    {"measured_spread.disturbed", "", none, nullptr},
    {"hot_s", "hot", in_seconds, [](const RunAt& at) -> Json { return at.point.hot.median; }},
    {"hot_spread", "", none, [](const RunAt& at) { return spread_json(at.point.hot); }},
    {"#lower_s", "lower", in_seconds, predicted_bound<&Bounds::lower>},
    {"#expected_s", "expected", in_seconds, expected_s, expected_words},
    {"#upper_s", "no overlap", in_seconds, predicted_bound<&Bounds::upper>},
    {"roofline_fraction", "of roofline", in_percent, roofline_fraction},
    {"#bound_by", "bound by", none,
     [](const RunAt& at) { return bound_of(at) == nullptr ? Json() : Json(bound_of(at)->id); }, bound_cell},
    {"flop_per_s", "FLOP/s", in_flop_rate,
     [](const RunAt& at) -> Json { return at.point.flops / at.point.cold.median; }},
    {"bytes_per_s", "B/s", in_bandwidth, [](const RunAt& at) -> Json { return at.point.bytes / at.point.cold.median; }},
    {"sets.count", "", in_whole, [](const RunAt& at) -> Json { return at.point.sets; }},
    {"sets.bytes", "", in_bytes, [](const RunAt& at) -> Json { return at.point.set_bytes; }},
    {"weights.bytes", "", in_bytes, [](const RunAt& at) -> Json { return at.point.pack_bytes; }},
    {"weights.layout_s", "", in_seconds, [](const RunAt& at) -> Json { return at.point.pack_s; }},
    {"check.max_rel_error", "error", in_three_digits, [](const RunAt& at) -> Json { return at.point.max_rel_error; },
     error_words},
    {"check.of_bound", "", in_three_digits, [](const RunAt& at) -> Json { return at.point.of_bound; }},
    {"check.elements", "", in_whole, [](const RunAt& at) -> Json { return at.point.checked; }},
    {"check.right", "", none, [](const RunAt& at) -> Json { return at.point.right(); }},
    {"check.worst", "", none, [](const RunAt& at) -> Json { return at.point.worst; }},
};

constexpr FigureColumn columns[] = {{"swept", "*"},
                                    {"measured_s"},
                                    {"measured_spread.p5", "measured_p5_s"},
                                    {"measured_spread.p95", "measured_p95_s"},
                                    {"measured_spread.disturbed", "disturbed"},
                                    {"hot_s"},
                                    {"#lower_s", "lower_s"},
                                    {"#expected_s", "expected_s"},
                                    {"#upper_s", "upper_s"},
                                    {"roofline_fraction"},
                                    {"#bound_by", "bound_by"},
                                    {"flop_per_s"},
                                    {"bytes_per_s"},
                                    {"check.max_rel_error"}};
static_assert(named(all, columns));

/// Returns the keys of `op` and the measured values.
Json point_json(const RunAnswer& answer, const RunPoint& point) {
    Json json;
    if (point.answer) {
        json = Json::parse(op_json({*point.answer}), nullptr, false);
    } else {
        json = {{"schema", 1},           {"machine", nullptr}, {"flops", point.flops},   {"lower_s", nullptr},
                {"expected_s", nullptr}, {"upper_s", nullptr}, {"notes", Json::array()}, {"sources", Json::array()}};
    }
    json.update(json_of(all, RunAt{answer, point}));
    for (std::size_t i = 0; i < point.kernels.size(); ++i) {
        if (json.contains("ops") && i < json["ops"].size()) json["ops"][i]["measured_s"] = point.kernels[i];
    }
    for (const std::string& note : answer.notes) json["notes"].push_back(note);
    return json;
}

}  // namespace

Json spread_json(const TimedRun& time) {
    return {{"p5", time.p5},        {"p95", time.p95},     {"best", time.best},
            {"samples", time.kept}, {"tried", time.tried}, {"disturbed", time.disturbed}};
}

Table run_table(const RunAnswer& answer, bool for_programs) {
    const bool priced = answer.points.front().answer.has_value();
    const bool expects = std::ranges::any_of(
        answer.points, [](const RunPoint& point) { return point.answer && point.answer->expected_s; });
    std::vector<FigureColumn> shown;
    for (const FigureColumn& column : columns) {
        const bool predicted = column.key.starts_with('#') || column.key == "roofline_fraction";
        if (predicted && !priced) continue;
        const std::string_view label = find_figure(all, column.key).label;
        if (for_programs || column.key == "swept") {
            shown.push_back(column);
        } else if (!label.empty() && (expects || column.key != "#expected_s")) {
            shown.push_back({column.key, label, true});
        }
    }
    std::vector<RunAt> runs;
    for (const RunPoint& point : answer.points) runs.push_back({answer, point});
    return figure_table(all, shown, runs, {0, "true", "false"});
}

std::string run_json(const RunAnswer& answer) {
    if (answer.axes.empty()) return dumped(point_json(answer, answer.points.front())) + "\n";
    Json points = Json::array();
    for (const RunPoint& point : answer.points) {
        Json each = point_json(answer, point);
        each.erase("schema");
        points.push_back(std::move(each));
    }
    return dumped({{"schema", 1}, {"sweep", std::move(points)}}) + "\n";
}

}  // namespace roofline::core
