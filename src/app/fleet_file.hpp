// Reads the file of `roofline plan fleet`: pools of chips, and the jobs that run on them.
#pragma once

#include <functional>
#include <string>

#include "app/request.hpp"

namespace roofline::core {

/// What the names in the file stand for: the door that asks reads files, and this does not.
struct FleetLoaders {
    std::function<Result<NamedText>(const std::string& name)> model;
    std::function<Result<MachineRef>(const std::string& name)> machine;
};

/// Reads tables [pools.NAME] with `on`, `chips` and, unless the machine has one, `price`; [[train]] with `name`,
/// `model`, the options of `roofline plan train` and `chips`, the numbers of chips that are tried; [[serve]] with
/// `name`, `model`, the options of `roofline serve`, `rate` and a target; and `days`, for which served models are paid.
/// Errors, with line and column: keys that are missing or unknown, values that are none; those of the loaders.
[[nodiscard]] Result<FleetRequest> read_fleet(const NamedText& file, const FleetLoaders& loaders);

}  // namespace roofline::core
