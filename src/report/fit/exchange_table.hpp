// Fitted models of expert dispatch and combine, as a table and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "calibrate/calibration.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// Returns a table with one row per model. Numbers are in SI base units if `raw`, else formatted for people.
[[nodiscard]] Table exchange_models(const std::vector<Calibration>& calibrations, bool raw);

[[nodiscard]] nlohmann::ordered_json exchanges_json(const std::vector<Calibration>& calibrations);

}  // namespace roofline::core
