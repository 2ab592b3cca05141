// Pricing of collectives on a slice: one more resource per tier of the network.
#pragma once

#include <optional>
#include <string>

#include "bound/pricing.hpp"
#include "network/system.hpp"
#include "network/transfer.hpp"

namespace roofline::core {

/// Adds the resources of the tiers that the work's messages cross, innermost first. Collectives of all chips add up,
/// and so do permutes, except on a torus, where they may take links that the others leave. A transfer with a root adds
/// to those over the same links in the same direction, as far as these are known, and otherwise runs at the same time
/// as the rest. Errors: a mesh axis that the system lacks.
[[nodiscard]] Status price_network(Pricing& pricing, const Work& work, const System& system);

/// Returns the loads of a message on the slice. A transfer with a root has one load, that of its tightest cut at the
/// tiers' rates; a cut over a tier without a published rate is ignored if there is another one. Error: a mesh axis that
/// the system lacks.
[[nodiscard]] Result<CollectiveLoad> load_of(const Message& message, const System& system);

/// Whether a permute shares the links of its tier with every collective there: a chip of a switch or full mesh sends
/// all that it sends through its own ports, whatever the target, while a torus has links in several directions.
[[nodiscard]] bool shares_ports(const TierLoad& load, CollectiveKind kind, const System& system);

/// Whether load_of() analyses permutes chip by chip: not on a slice of very many chips.
[[nodiscard]] bool knows_targets(const System& system);

/// The time of a single collective.
struct CollectiveTime {
    double lower_s = 0;          ///< the longer of transfer and latency, on the slowest tier
    double upper_s = 0;          ///< sum of transfers and latencies of all tiers
    bool latency_bound = false;  ///< the latency is longer
};
/// Returns the time of a load whose whole array has `bytes`. Empty when a tier has no published rate.
[[nodiscard]] std::optional<CollectiveTime> time_of(const CollectiveLoad& load, const System& system, double bytes);

/// Returns the time of a single transfer of an array of `bytes`. Empty when a tier that it may use has no published
/// rate.
[[nodiscard]] std::optional<CollectiveTime> time_of(const TransferLoad& load, const Slice& slice, double bytes);

/// Returns the rate per direction by which a tier's loads are divided: of a link on a torus or full mesh, otherwise of
/// a chip.
[[nodiscard]] std::optional<Rate> rate_of(const NetworkTier& tier);

/// Returns the rate per direction by which a load is divided: that of its tier, or for a cut over several tiers that of
/// all its links.
[[nodiscard]] std::optional<Rate> rate_of(const TierLoad& load, const System& system);

/// The name of the resource that a load occupies: a tier, or several tiers together, which are a separate resource
/// because either may take what the other one leaves: "nvlink+ib", "NVLink + IB".
struct LoadName {
    std::string id;
    std::string label;
};
[[nodiscard]] LoadName name_of(const TierLoad& load, const System& system);

}  // namespace roofline::core
