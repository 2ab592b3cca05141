// The load of a collective on the network: bytes over the busiest link of each tier, and the latency of its hops.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algebra/rational.hpp"
#include "base/result.hpp"
#include "network/placement.hpp"
#include "network/slice.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Which links a load uses: those of all chips alike, as in a collective; those of the sender or of the receiver, in a
/// transfer with a root; or a narrower place between them. Loads on different links do not delay each other.
enum class LoadedLinks { all, sender, receiver, between };

/// What one tier carries per byte of the group's whole array.
struct TierLoad {
    std::size_t tier = 0;      ///< index in slice.tiers
    std::int64_t members = 1;  ///< of a group along this tier; not given for a transfer with a root
    Rational link_bytes;  ///< over the busiest link of a torus or full mesh, or through one chip's port of a switch
    Rational
        /// By one chip over all its links of the tier; if the network reduces, what the chip hands over and gets back.
        sent_bytes;
    /// As link_bytes, but without sums in a switch: the chips do an all-reduce as a reduce-scatter and an all-gather.
    /// Libraries mostly do this, so measured times are compared with it.
    Rational two_phase_bytes;
    /// On a torus, the bytes per link over each cut (network/torus_cuts.hpp). The greatest is link_bytes. Collectives
    /// that run at once add up per cut: together they take at least the time of the longest cut, and two collectives on
    /// different axes, or in opposite directions, do not delay each other. Empty for other topologies, where all loads
    /// are added.
    std::vector<Rational> cuts;
    double latency_s = 0;  ///< number of sequential hops times the published latency of one; 0 if none is published
    /// For a transfer over links of several tiers at once: the number of links of each tier of the slice. link_bytes
    /// then refers to all of them together, and `tier` is the outermost. Empty otherwise.
    std::vector<Rational> links;
    LoadedLinks over = LoadedLinks::all;
};

/// A collective over a group of chips. Every load is proportional to V, the bytes of the array that the group holds
/// together (nccl-tests' size): of the gathered array, of the array that each member holds before its sum is scattered
/// or reduced, or of the array that is redistributed.
struct CollectiveLoad {
    CollectiveKind kind = CollectiveKind::all_gather;
    std::int64_t members = 1;
    std::vector<TierLoad> tiers;  ///< innermost first
    std::int64_t hops = 0;        ///< sequential hops of a transfer with a root
    /// For such a transfer: bytes that all chips together send per byte of V, without forwarding.
    Rational sent_by_all;
};

struct CollectiveOptions {
    /// Selects the approximations of textbooks: every torus axis is a wrapped ring, factors (n-1)/n are left out, an
    /// all-to-all takes a quarter of its all-gather, and the latency is n/2 hops.
    bool textbook = false;
};

/// Loads of a collective over mesh axes together (their lanes). `mesh`: all axes that collectives may go over which are
/// to be added up with this one, in the order that all of these are given; without any, `axes`. Which cuts there are
/// depends on it.
///
/// Torus: the cuts of network/torus_cuts.hpp, each of which is a bound for any algorithm and for several collectives at
/// once. A permute with unknown targets puts V/n on one link. The latency is that of the hops to the farthest chip,
/// once, even for an all-reduce, because for a tiny array all chips can gather all parts. Switch: V(n-1)/n through a
/// chip's port; all-reduce 2V(n-1)/n, or V(n+1)/n with reduction in the network (V on a NIC), whichever is less;
/// all-to-all V(n-1)/n^2. Full mesh, per pair: V/n and V/n^2, all-reduce 2V/n. Several tiers: the inner ones carry V,
/// the outer ones V divided by the members inside; an all-to-all goes straight over a tier of switches, so the inner
/// ones carry what stays in a node. Between leaves of a tier (network/leaf.hpp) the leaves exchange at the rate of
/// their uplinks. Adjoining parts of one torus axis count as one; other parts of it share its links.
/// docs/method/networks.md derives the formulas. Transfers with a root are in network/transfer.hpp. Errors: an axis of
/// a torus with more than a million positions.
[[nodiscard]] Result<CollectiveLoad> collective_load(const Slice& slice, CollectiveKind kind,
                                                     const std::vector<const PlacedAxis*>& axes,
                                                     const CollectiveOptions& options = {},
                                                     const std::vector<const PlacedAxis*>& mesh = {});

}  // namespace roofline::core
