// How samples scattered, as every JSON answer with measured times writes it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/run/run_report.hpp"

namespace roofline::core {

[[nodiscard]] nlohmann::ordered_json spread_json(const TimedRun& time);

}  // namespace roofline::core
