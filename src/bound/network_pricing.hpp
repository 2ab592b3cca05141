// Collectives on a slice: one more resource for each tier of the network.
#pragma once

#include <optional>
#include <string>

#include "bound/pricing.hpp"
#include "network/system.hpp"
#include "network/transfer.hpp"

namespace roofline::core {

/// Adds the resources of the tiers that the work's messages cross, innermost first. Collectives that all chips take part in add up.
/// A transfer with a root adds up with those over the same wires in the same direction, as far as that is known, and is else at
/// the same time as the rest. Errors: a mesh axis that the system lacks.
[[nodiscard]] Status price_network(Pricing& pricing, const Work& work, const System& system);

/// The loads of a message on the slice. Of a transfer with a root it is one load, that of its tightest cut at the tiers' rates; a
/// cut over tiers one of which has no published rate is left out where another is known. Error: a mesh axis that the system
/// lacks.
[[nodiscard]] Result<CollectiveLoad> load_of(const Message& message, const System& system);

/// A collective by itself.
struct CollectiveTime {
    double lower_s = 0;          ///< the longer of transfer and latency, on the slowest tier
    double upper_s = 0;          ///< transfers and latencies of all tiers in turn
    bool latency_bound = false;  ///< latency is the longer
};
/// Time of a load whose whole array has `bytes`. Empty when a tier has no published rate.
[[nodiscard]] std::optional<CollectiveTime> time_of(const CollectiveLoad& load, const System& system, double bytes);

/// A transfer of an array of `bytes` by itself. Empty when a tier that it may go over has no published rate.
[[nodiscard]] std::optional<CollectiveTime> time_of(const TransferLoad& load, const Slice& slice, double bytes);

/// The one-way rate that a tier's loads are divided by: of a link on a torus or full mesh, of a chip elsewhere.
[[nodiscard]] std::optional<Rate> rate_of(const NetworkTier& tier);

/// The one-way rate that a load is divided by: that of its tier, or of a cut over several tiers that of all its wires.
[[nodiscard]] std::optional<Rate> rate_of(const TierLoad& load, const System& system);

/// What is busy with a load: a tier, or several together, which then are a resource of their own, for either may take what the
/// other leaves: "nvlink+ib", "NVLink + IB".
struct LoadName {
    std::string id;
    std::string label;
};
[[nodiscard]] LoadName name_of(const TierLoad& load, const System& system);

}  // namespace roofline::core
