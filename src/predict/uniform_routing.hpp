// The bound of a program whose tokens choose their experts uniformly.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Gives the messages of the program of one chip the share that crosses the network (Message::sure) where every token
/// chooses its experts at random, no expert twice, and goes once to each chip that has one of them, from one node to
/// another once: of k copies those that parts_reached() counts, of nodes where there are several and else of chips, in
/// the groups of experts that the program limits tokens to. As lay_out() leaves it that share is the least that any
/// routing sends, one copy of each token. Says whether there are such messages; there are none without sizes or rates.
bool route_uniformly(Program& local, const Sizes& sizes, const System& system);

/// The lower bound of a program that is routed so. Seconds. Empty where nothing is routed to other chips. Errors: those
/// of price_network().
[[nodiscard]] Result<std::optional<RoutingBound>> uniform_bound(const Prediction& answer);

}  // namespace roofline::core
