// Published runs beside bounds alone, for tests.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "predict/compare/measured_training.hpp"

namespace roofline::core {

/// Compares runs with bounds: nothing is calibrated.
inline MeasuredTrainingRuns trainings() {
    auto made = MeasuredTrainingRuns::make(*MeasuredSystems::make(), Calibrations(std::vector<Calibration>{}));
    REQUIRE(made);
    return std::move(*made);
}

/// Returns why a run cannot be compared.
inline std::string reason(const MeasuredTraining& row) {
    auto compared = trainings().compare(row);
    REQUIRE(!compared);
    return compared.error().message;
}

}  // namespace roofline::core
