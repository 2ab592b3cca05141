// The bound of a program whose tokens choose their experts uniformly.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "report/op/op_answer.hpp"

namespace roofline {

/// The lower bound where every token chooses its experts at random, no expert twice, and goes once to each chip that has one of them,
/// from one node to another once: of an exchange with E experts in g groups (nodes where there are several, else chips) and k
/// choices the share g (1 - C(E - E/g, k) / C(E, k)) / k of all copies crosses the network. `lower` has the least that any routing
/// sends, one copy of each token. Seconds. Empty where nothing is routed to other chips, without sizes or rates. Errors: those of
/// price_network().
[[nodiscard]] Result<std::optional<UniformBound>> uniform_bound(const OpAnswer& answer);

}  // namespace roofline
