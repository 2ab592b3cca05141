#include <cmath>
#include <nlohmann/json.hpp>

#include "report/source_json.hpp"
#include "report/validate/comparison_figures.hpp"
#include "report/validate/validation_report.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t max_listed = 100;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }
Json text(const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); }

Json error_of(const ErrorStats& stats) {
    Json json;
    const bool any = stats.rows > 0;
    json["mean"] = any ? number(stats.mean) : Json(nullptr);
    json["median"] = any ? number(stats.median) : Json(nullptr);
    json["p90"] = any ? number(stats.p90) : Json(nullptr);
    return json;
}

Json rows_json(const Validation& validation, const std::vector<std::size_t>& indices) {
    Json list = Json::array();
    for (const std::size_t i : indices) {
        if (list.size() == max_listed) break;
        list.push_back(comparison_json(validation.rows[i]));
    }
    return list;
}

Json groups_json(const std::vector<ErrorGroup>& groups) {
    Json list = Json::array();
    for (const ErrorGroup& group : groups) {
        Json json;
        json["by"] = group.by;
        json["name"] = group.name;
        json["operation"] = text(group.operation);
        json["rows"] = group.error.rows;
        json["below_lower"] = group.below_lower;
        json["error"] = error_of(group.error);
        list.push_back(std::move(json));
    }
    return list;
}

Json order_json(const std::vector<Ordering>& order) {
    Json list = Json::array();
    for (const Ordering& each : order) {
        list.push_back({{"operation", each.operation},
                        {"pairs", each.pairs},
                        {"right", each.right},
                        {"fraction", number(each.fraction())}});
    }
    return list;
}

Json rates_json(const ServedRates& rates) {
    return {{"tokens_per_s_per_user", number(rates.user)}, {"tokens_per_s_per_chip", number(rates.chip)}};
}

Json curve_json(const ServedCurve& curve) {
    Json json;
    json["source"] = text(curve.task.source);
    json["model"] = curve.task.model;
    json["system"] = curve.task.system;
    json["dtype"] = text(curve.task.dtype);
    json["prompt"] = curve.task.prompt;
    json["output"] = curve.task.output;
    json["slice"] = curve.slice;
    json["strategy"] = curve.strategy;
    json["software"] = text(curve.software);
    Json points = Json::array();
    for (const ServedPoint& point : curve.points) {
        points.push_back({{"line", point.line},
                          {"concurrency", number(point.concurrency)},
                          {"measured", rates_json(point.measured)},
                          {"expected", point.expected ? rates_json(*point.expected) : Json(nullptr)}});
    }
    json["points"] = std::move(points);
    return json;
}

Json frontiers_json(const ServingFrontiers& frontiers) {
    if (frontiers.curves.empty()) return nullptr;
    Json curves = Json::array();
    for (const ServedCurve& curve : frontiers.curves) curves.push_back(curve_json(curve));
    Json json;
    json["points"] = frontiers.per_chip.rows;
    json["error_per_chip"] = error_of(frontiers.per_chip);
    json["tasks"] = frontiers.tasks;
    json["compared"] = frontiers.distance.rows;
    json["outside"] = frontiers.outside;
    json["distance"] = error_of(frontiers.distance);
    json["curves"] = std::move(curves);
    return json;
}

Json reasons_json(const std::vector<SkippedRows>& reasons) {
    Json list = Json::array();
    for (const SkippedRows& each : reasons) {
        list.push_back({{"reason", each.reason},
                        {"rows", each.rows},
                        {"first_line", each.first_line > 0 ? Json(each.first_line) : Json(nullptr)}});
    }
    return list;
}

}  // namespace

std::string validation_json(const Validation& validation) {
    const ErrorSummary& summary = validation.summary;
    Json json;
    json["schema"] = 1;
    json["table"] = validation.kind;
    json["rows"] = validation.rows.size();
    json["skipped"] = validation.skipped_rows();
    json["below_lower"] = summary.below_lower;
    json["cached"] = summary.cached;
    json["error_of"] = summary.of_expected ? "expected" : "lower";
    json["error_rows"] = summary.error.rows;
    json["error"] = error_of(summary.error);
    json["error_of_lower"] = error_of(summary.error_of_lower);
    json["repeats"] =
        summary.repeats ? Json{{"rows", summary.repeats->rows}, {"mean", summary.repeats->mean}} : Json(nullptr);
    json["memory"] = summary.memory.rows == 0 ? Json(nullptr)
                                              : Json{{"rows", summary.memory.rows},
                                                     {"error", error_of(summary.memory)},
                                                     {"groups", groups_json(summary.memory_groups)}};
    json["order"] = order_json(summary.order);
    json["frontiers"] = frontiers_json(validation.frontiers);
    json["max_error"] = number(validation.max_error);
    json["passed"] = !validation.failed();
    json["groups"] = groups_json(summary.groups);
    json["worst"] = rows_json(validation, summary.worst);
    json["below"] = rows_json(validation, summary.below);
    json["skipped_by"] = reasons_json(validation.skipped);
    json["not_expected_by"] = reasons_json(validation.not_expected);
    json["notes"] = validation.notes;
    Json sources = Json::array();
    for (const auto& [system, rate] : validation.rates) {
        Json source = source_json(rate);
        source["system"] = system;
        sources.push_back(std::move(source));
    }
    json["sources"] = std::move(sources);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace roofline::core
