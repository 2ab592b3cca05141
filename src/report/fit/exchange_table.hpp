// Laws of exchanges with experts that a fit found, as a table and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "calibrate/calibration.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// A row for each law, with numbers as programs want them (`raw`) or as people read them.
[[nodiscard]] Table exchange_laws(const std::vector<Calibration>& calibrations, bool raw);

[[nodiscard]] nlohmann::ordered_json exchanges_json(const std::vector<Calibration>& calibrations);

}  // namespace roofline::core
