// The mean error of predictions, and which measurements of collectives can be used to find it.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "calibrate/collective/fit_collectives.hpp"

namespace roofline::core {

/// The mean of |predicted - measured| / measured.
class MeanError {
public:
    void add(const CollectiveModel& model, const std::vector<TimedPoint>& points) {
        for (const TimedPoint& timed : points) add(seconds_of(model, timed.point), timed.time_s);
    }
    void add(double predicted, double measured) {
        sum_ += std::abs(predicted - measured) / measured;
        ++rows_;
    }
    [[nodiscard]] bool empty() const { return rows_ == 0; }
    [[nodiscard]] double mean() const { return rows_ == 0 ? 0 : sum_ / static_cast<double>(rows_); }

private:
    double sum_ = 0;
    std::int64_t rows_ = 0;
};

/// Returns whether a time is less than half of its bound. Up to that a link may be faster than published; less is
/// another unit or another quantity.
[[nodiscard]] inline bool is_impossible(const CollectiveSample& row) { return row.timed.time_s < row.lower_s / 2; }

/// Returns whether the kernels of a model are a framework's own, which bypass the communication library.
[[nodiscard]] inline bool is_custom(const CollectiveKey& key) {
    return key.variant.find("custom") != std::string_view::npos || key.variant.find("shot") != std::string_view::npos;
}

}  // namespace roofline::core
