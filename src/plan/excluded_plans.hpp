// Why a space has no plans: options of a user that exclude all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan_space.hpp"

namespace roofline::core {

/// Options that leave no plan in a space.
struct ExcludingOptions {
    std::vector<std::string> options;  ///< "--microbatches 3", "--without data,fsdp"; at least one
    std::string alone{};               ///< what to do about it if there is a single one
    bool each_alone = true;            ///< giving up any one of them leaves plans; otherwise all have to be given up
    /// If --microbatches is the only one: the numbers that plans of the space have without it, in rising order.
    std::vector<std::int64_t> microbatches{};

    /// Returns "--microbatches 3 excludes every plan".
    [[nodiscard]] std::string message() const;
    /// Returns what to do: "leave it out, or give one of 1, 2 and 4".
    [[nodiscard]] std::string remedy() const;
};

/// Returns the options that exclude every plan of a space without plans; empty if it has none without them, either.
[[nodiscard]] std::optional<ExcludingOptions> excluding_options(const PlanSpace& space);

}  // namespace roofline::core
