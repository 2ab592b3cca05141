#include "predict/sweep_columns.hpp"

#include <algorithm>
#include <limits>
#include <span>

namespace roofline::core {

SweepFigures::SweepFigures(const Prediction& answer) : answer_(&answer) {
    keys_ = {{"flops"},      {"transcendentals"}, {"lower_s"},      {"sequential_s"},
             {"expected_s"}, {"upper_s"},         {"peak_fraction"}};
    add(answer);
    for (const Prediction& other : answer.alternative_predictions) add(other);
}

std::size_t SweepFigures::key(std::vector<std::string> path) {
    const auto found = std::find(keys_.begin(), keys_.end(), path);
    const auto index = static_cast<std::size_t>(found - keys_.begin());
    if (found == keys_.end()) keys_.push_back(std::move(path));
    return index;
}

void SweepFigures::add(const Prediction& answer) {
    const Analysis& total = answer.analysis.total;
    Places places;
    for (const KeyedFlops& entry : total.pricing.flops_by()) places.flops.push_back(key({"flops_by", entry.key}));
    for (const auto& [level, traffic] : total.work.memory) {
        places.read.push_back(key({"bytes", level, "read"}));
        places.write.push_back(key({"bytes", level, "write"}));
        places.intensity.push_back(key({"intensity", level}));
    }
    for (const Resource& resource : total.pricing.resources) {
        places.time.push_back(key({"time_s", resource.id}));
        const auto found = std::find(resources_.begin(), resources_.end(), resource.id);
        places.resources.push_back(static_cast<int>(found - resources_.begin()));
        if (found == resources_.end()) resources_.push_back(resource.id);
    }
    if (const Resource* compute = total.pricing.compute(); compute != nullptr) {
        places.compute = static_cast<std::size_t>(compute - total.pricing.resources.data());
    }
    places_.push_back(std::move(places));
}

SweepColumns sweep_columns(const Prediction& answer, const std::vector<SweepAxis>& axes) {
    const SweepFigures figures(answer);
    const std::size_t points = point_count(axes);
    SweepColumns all;
    all.resources = figures.resources();
    all.bound_by.reserve(points);
    for (const auto& key : figures.keys()) {
        all.columns.push_back({key, std::vector<double>(points, std::numeric_limits<double>::quiet_NaN())});
    }
    for_each_point(answer, axes,
                   [&](std::span<const std::int64_t> /*sizes*/, const CompiledProgram::Point& point,
                       const Prediction& at, std::optional<double> expected_s) {
                       const std::size_t index = all.bound_by.size();
                       const int bound = figures.each(point, at, expected_s, [&](std::size_t key, double number) {
                           all.columns[key].values[index] = number;
                       });
                       all.bound_by.push_back(static_cast<std::int8_t>(bound));
                   });
    return all;
}

}  // namespace roofline::core
