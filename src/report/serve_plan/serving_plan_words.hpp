// Words about set-ups of servers.
#pragma once

#include <optional>
#include <string>

#include "predict/serve_plan/serving_search.hpp"

namespace roofline::core {

/// Returns "2 of 4 chips prefill (tensor=4), 1 of 8 decodes (expert=8)", or "8 chips (tensor=8)".
[[nodiscard]] std::string set_up_text(const ServingSetUp& set_up);

/// Returns "TTFT <= 1 s and TPOT <= 40 ms (99th percentiles)"; "" without targets.
[[nodiscard]] std::string targets_text(const ServingSearch& search);

/// Returns the options of targets in milliseconds, rounded up: "--ttft 812ms and --tpot 30.1ms"; "" without any.
[[nodiscard]] std::string targets_options(const std::optional<double>& ttft_s, const std::optional<double>& tpot_s);

/// Returns the options that a set-up needs which is better and misses targets.
[[nodiscard]] std::string needs_text(const BetterServing& better);

/// Returns "throughput", "cost" or "chips".
[[nodiscard]] const char* objective_name(ServingObjective objective);

/// Returns "99", "90", "50" or "mean".
[[nodiscard]] const char* statistic_name(TimeStatistic statistic);

}  // namespace roofline::core
