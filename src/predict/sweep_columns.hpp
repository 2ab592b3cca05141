// The figures of a sweep as columns: a number per point, for callers that compute with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bound/sweep.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// The figures of a point of a sweep, under the keys that they have in JSON.
class SweepFigures {
public:
    /// `answer` must outlive this object.
    explicit SweepFigures(const Prediction& answer);

    /// Keys of the figures, outer before inner: {"time_s", "hbm"}, {"lower_s"}.
    [[nodiscard]] const std::vector<std::vector<std::string>>& keys() const { return keys_; }
    /// Ids of the resources that may be the bottleneck.
    [[nodiscard]] const std::vector<std::string>& resources() const { return resources_; }

    /// Calls `put(key, number)` for each figure that the point has, with the index of its key, and returns the index of
    /// the bottleneck in resources(); -1 if nothing takes time. `at` is the prediction that the point belongs to.
    template <class Put>
    int each(const CompiledProgram::Point& point, const Prediction& at, std::optional<double> expected_s,
             const Put& put) const;

private:
    /// Where the figures of one prediction stand among all keys; layouts may differ in resources and levels.
    struct Places {
        std::vector<std::size_t> flops, read, write, intensity, time;
        std::vector<int> resources;
        std::optional<std::size_t> compute;
    };

    std::size_t key(std::vector<std::string> path);
    void add(const Prediction& answer);

    std::vector<std::vector<std::string>> keys_;
    std::vector<std::string> resources_;
    std::vector<Places> places_;
    const Prediction* answer_;
};

/// A figure at all points of a sweep; NaN where a point does not have it.
struct SweepColumn {
    std::vector<std::string> key;
    std::vector<double> values;
};

struct SweepColumns {
    std::vector<SweepColumn> columns;
    std::vector<std::string> resources;
    std::vector<std::int8_t> bound_by;  ///< by point the index in `resources`; -1 if nothing takes time
};

/// Returns the figures of a sweep that predict() has answered.
[[nodiscard]] SweepColumns sweep_columns(const Prediction& answer, const std::vector<SweepAxis>& axes);

template <class Put>
int SweepFigures::each(const CompiledProgram::Point& point, const Prediction& at, std::optional<double> expected_s,
                       const Put& put) const {
    const std::size_t which =
        &at == answer_ ? 0 : 1 + static_cast<std::size_t>(&at - answer_->alternative_predictions.data());
    const Places& places = places_[which];
    const Bounds& bounds = point.bounds;
    put(0, point.flops());
    put(1, point.transcendentals);
    put(2, bounds.lower);
    put(3, point.sequential);
    if (expected_s) put(4, *expected_s);
    put(5, bounds.upper);
    if (places.compute) put(6, point.seconds[*places.compute] / bounds.lower);
    for (std::size_t i = 0; i < places.flops.size(); ++i) put(places.flops[i], point.term_flops[i]);
    for (std::size_t i = 0; i < places.read.size(); ++i) {
        put(places.read[i], point.read[i]);
        put(places.write[i], point.write[i]);
        put(places.intensity[i], point.intensity(i));
    }
    for (std::size_t i = 0; i < places.time.size(); ++i) put(places.time[i], point.least_seconds(i));
    return bounds.bound_by ? places.resources[*bounds.bound_by] : -1;
}

}  // namespace roofline::core
