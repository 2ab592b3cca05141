// Collectives on a slice: one more resource for each tier of the network.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "bound/pricing.hpp"
#include "network/system.hpp"

namespace roofline {

/// Adds the resources of the tiers that the work's messages cross, innermost first. Errors: a mesh axis that the system lacks.
[[nodiscard]] Status price_network(Pricing& pricing, const Work& work, const System& system);

/// The loads of a message on the slice. Error: a mesh axis that the system lacks.
[[nodiscard]] Result<CollectiveLoad> load_of(const Message& message, const System& system);

/// One message by itself, at these sizes.
struct MessageTime {
    double seconds = 0;                        ///< the longer of transfer and latency, on the slowest tier
    bool latency_bound = false;                ///< latency is the longer
    std::map<std::string, double> sent_bytes;  ///< by one chip, by tier
};
/// Empty when a dimension of the message has no size or a tier no published rate.
[[nodiscard]] std::optional<MessageTime> message_time(const Message& message, const System& system, const Sizes& sizes);

/// The one-way rate that a tier's loads are divided by: of a link on a torus or full mesh, of a chip's port elsewhere.
[[nodiscard]] std::optional<Rate> rate_of(const NetworkTier& tier);

}  // namespace roofline
