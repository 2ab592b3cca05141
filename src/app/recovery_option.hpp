// Parses the options of `roofline train` about interruptions and checkpoints.
#pragma once

#include <optional>
#include <string_view>

#include "app/request.hpp"
#include "predict/train/run_goodput.hpp"

namespace roofline::core {

/// Parses a rate of interruptions: a number per 1,000 chip-days, or one with a unit, "0.17/chip-year". Returns
/// interruptions per chip and second. Errors: not a number above 0; an unknown unit.
[[nodiscard]] Result<double> parse_failures(std::string_view text);

/// Parses --storage, --failures, --restart and --async-checkpoints. Empty if none is given. Errors: invalid values; no
/// --storage or no --tokens beside any of them.
[[nodiscard]] Result<std::optional<RecoveryQuestion>> recovery_option(const TrainRequest& request);

}  // namespace roofline::core
