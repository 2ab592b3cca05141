// The spread of measured samples in the form that all JSON answers share.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/run/run_report.hpp"

namespace roofline::core {

[[nodiscard]] nlohmann::ordered_json spread_json(const TimedRun& time);

}  // namespace roofline::core
