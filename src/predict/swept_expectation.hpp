// The expected time of a prediction at other sizes than its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "calibrate/compiled_expected.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// The expected time at the points of a sweep. Empty if a part has no model.
class SweptExpectation {
public:
    /// `axes` must outlive this object.
    SweptExpectation(const Prediction& answer, const std::vector<SweepAxis>& axes);

    /// Returns the expected time at a point; at least the lower bound there.
    [[nodiscard]] std::optional<double> at(std::span<const std::int64_t> sizes, const Bounds& bounds);

private:
    const std::vector<SweepAxis>* axes_;
    std::optional<CompiledExpected> compiled_;
    std::vector<double> sizes_;
    std::vector<double> scratch_;
};

}  // namespace roofline::core
