#include <cmath>
#include <nlohmann/json.hpp>

#include "report/op/op_json.hpp"
#include "report/run/run_report.hpp"
#include "report/run/spread_json.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// The keys of `op`, and what was measured.
Json point_json(const RunAnswer& answer, const RunPoint& point) {
    Json json;
    if (point.answer) {
        json = Json::parse(op_json({*point.answer}), nullptr, false);
    } else {
        json["schema"] = 1;
        json["machine"] = nullptr;
        json["flops"] = number(point.flops);
        json["lower_s"] = nullptr;
        json["expected_s"] = nullptr;
        json["upper_s"] = nullptr;
        json["notes"] = Json::array();
        json["sources"] = Json::array();
    }
    Json swept = Json::object();
    for (std::size_t i = 0; i < answer.axes.size(); ++i) {
        for (const std::string& dim : answer.axes[i].dims) swept[dim] = point.at[i];
    }
    if (!answer.axes.empty()) json["swept"] = std::move(swept);
    const double seconds = point.cold.median;
    json["device"] = answer.device;
    json["measured_s"] = number(seconds);
    json["measured_spread"] = spread_json(point.cold);
    json["hot_s"] = number(point.hot.median);
    json["hot_spread"] = spread_json(point.hot);
    json["roofline_fraction"] =
        point.answer ? number(point.answer->analysis.total.bounds.lower / seconds) : Json(nullptr);
    json["flop_per_s"] = number(point.flops / seconds);
    json["bytes_per_s"] = number(point.bytes / seconds);
    json["sets"] = {{"count", point.sets}, {"bytes", number(point.set_bytes)}};
    json["weights"] = {{"bytes", number(point.pack_bytes)}, {"layout_s", number(point.pack_s)}};
    json["check"] = {{"max_rel_error", number(point.max_rel_error)},
                     {"of_bound", number(point.of_bound)},
                     {"elements", point.checked},
                     {"right", point.right()},
                     {"worst", point.worst}};
    for (std::size_t i = 0; i < point.kernels.size(); ++i) {
        if (json.contains("ops") && i < json["ops"].size()) json["ops"][i]["measured_s"] = number(point.kernels[i]);
    }
    for (const std::string& note : answer.notes) json["notes"].push_back(note);
    return json;
}

}  // namespace

Json spread_json(const TimedRun& time) {
    return {{"p5", number(time.p5)}, {"p95", number(time.p95)}, {"best", number(time.best)},
            {"samples", time.kept},  {"tried", time.tried},     {"disturbed", time.disturbed}};
}

std::string run_json(const RunAnswer& answer) {
    const auto dump = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; };
    if (answer.axes.empty()) return dump(point_json(answer, answer.points.front()));
    Json points = Json::array();
    for (const RunPoint& point : answer.points) {
        Json each = point_json(answer, point);
        each.erase("schema");
        points.push_back(std::move(each));
    }
    return dump({{"schema", 1}, {"sweep", std::move(points)}});
}

}  // namespace roofline::core
