// The factor of a chip in the model of its family.
#pragma once

#include <string_view>

#include "calibrate/pass/pass_model.hpp"

namespace roofline::core {

/// Returns the factor of a chip of the family, for generation or for prompts; of another chip the geometric mean of
/// those of the family's chips, 1 without any.
[[nodiscard]] double pass_factor(const PassFamily& family, std::string_view machine, bool generates);

}  // namespace roofline::core
