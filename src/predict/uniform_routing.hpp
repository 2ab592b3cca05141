// The lower bound of a program whose tokens choose their experts uniformly at random.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "predict/prediction.hpp"

namespace roofline::core {

/// Returns the program of one chip with the fraction of dispatched data that crosses the network (Message::sure) for
/// uniform routing: every token chooses distinct experts at random and is sent once to each chip that has one of them,
/// and once between two nodes. Of its k copies, parts_reached() gives the expected number that are sent, for nodes if
/// there are several and otherwise for chips, within the groups of experts that the program restricts tokens to.
/// lay_out() sets this fraction to the minimum of any routing, one copy per token. Empty if there are no such messages;
/// there are none if sizes or rates are unknown.
[[nodiscard]] std::optional<Program> routed_uniformly(const Program& local, const Sizes& sizes, const System& system);

/// Returns the lower bound for uniform routing in seconds. Empty if no tokens are sent to other chips. Errors: those of
/// price_network().
[[nodiscard]] Result<std::optional<RoutingBound>> uniform_bound(const Prediction& answer);

}  // namespace roofline::core
