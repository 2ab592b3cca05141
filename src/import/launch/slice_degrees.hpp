// Degrees of frameworks that are told one inside of slices and one between them.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>

#include "base/result.hpp"
#include "import/launch/launch_values.hpp"
#include "import/launch/training_launch.hpp"

namespace roofline::core {

/// The product; 0 if it is too large.
[[nodiscard]] std::int64_t product_of(std::initializer_list<std::int64_t> factors);

/// Returns the degrees that a launch leaves to the framework (-1), by key. Those inside of slices multiply to the chips
/// of a slice, those between them to the slices; empty for a framework that is not told them apart. Errors: two of a
/// kind that are left to it; degrees that do not multiply so.
[[nodiscard]] Result<std::map<std::string, std::int64_t, std::less<>>> left_over_degrees(const LaunchValues& values,
                                                                                         const LaunchJob& job);

}  // namespace roofline::core
