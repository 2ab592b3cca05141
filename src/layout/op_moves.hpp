// What of a strategy is moving tensors.
#pragma once

#include "layout/op_strategies.hpp"

namespace roofline::core {

/// Returns whether a conversion between elements of so many bytes comes before its move: a tensor that it makes smaller
/// is converted first.
[[nodiscard]] bool converts_first(const Rational& from, const Rational& to, const OpStrategies::Question& asked);

}  // namespace roofline::core
