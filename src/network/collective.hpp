// What a collective asks of the wires: bytes over the busiest link of each tier, and the latency of its steps.
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

/// Whose wires a load is over: those of all chips alike, as in a collective; out of the chip that sends or into the one that gets,
/// in a transfer with a root; or a narrower place on the way. What is over other wires does not wait for it.
enum class LoadedWires { all, sender, receiver, between };

/// What one tier carries, for each byte of the group's whole array.
struct TierLoad {
    std::size_t tier = 0;      ///< index in slice.tiers
    std::int64_t members = 1;  ///< of a group along this tier; of a transfer with a root not said
    Rational link_bytes;       ///< over the busiest link of a torus or full mesh, or in and out of one chip of a switch
    Rational
        sent_bytes;  ///< by one chip over all its links of the tier; where the network adds up, what it hands over and back
    /// As link_bytes, but an all-reduce is done by the chips, as a reduce-scatter and then an all-gather: what libraries mostly do,
    /// so that measured times are compared with it.
    Rational in_turn_bytes;
    /// On a torus, by cut (network/torus_cuts.hpp), what goes over its wires, for each of them. The greatest is link_bytes.
    /// Collectives that run at once add up cut by cut: together they take the longest one's time at the least, and two on
    /// different axes, or in opposite directions, do not wait for each other. Empty elsewhere: there all is added up.
    std::vector<Rational> cuts;
    double latency_s = 0;  ///< hops in sequence times the published latency of one; 0 where none is published
    /// Of a transfer over wires of several tiers at once: how many of each, by tier of the slice. link_bytes are then those over
    /// all of them together, and `tier` is the outermost. Empty elsewhere.
    std::vector<Rational> wires;
    LoadedWires over = LoadedWires::all;
};

/// A collective over a group of chips. Every load is proportional to V, the bytes of the array that the group holds together
/// (nccl-tests' size): of the gathered array, of the array each member holds before its sum is scattered or reduced, of the
/// array that is redistributed.
struct CollectiveLoad {
    CollectiveKind kind = CollectiveKind::all_gather;
    std::int64_t members = 1;
    std::vector<TierLoad> tiers;  ///< innermost first
    std::int64_t hops = 0;        ///< of a transfer with a root: that follow one another
    /// Of such a transfer: bytes that all chips together send, for each byte of V; what others pass on is not counted twice.
    Rational sent_by_all;
};

struct CollectiveOptions {
    /// The approximations people use by hand: every torus axis a wrapped ring, no (n-1)/n, an all-to-all a quarter of its
    /// all-gather, n/2 hops.
    bool textbook = false;
};

/// Loads of a collective over mesh axes together (their lanes). `mesh`: all axes that collectives may go over which are to be added
/// up with this one, in the order that all of these are given; without any, `axes`. Which cuts there are depends on it.
///
/// Torus: the cuts of network/torus_cuts.hpp, each a bound for any algorithm and for several collectives at once. An unknown permute
/// puts V/n on one link. Latency is that of the hops to the farthest chip, once, for an all-reduce too: of next to nothing all
/// can gather all parts.
/// Switch: V(n-1)/n through a chip's port; all-reduce 2V(n-1)/n, with reduction in the network V(n+1)/n (V on a nic), the lesser counts;
/// all-to-all V(n-1)/n^2. Full mesh, of a pair's rate: V/n and V/n^2, all-reduce 2V/n. Several tiers: the inner ones carry V,
/// the outer ones V divided by the members inside; an all-to-all goes straight over a tier of switches, so that the inner ones
/// carry what stays in a node. Between leaves of a tier (network/leaf.hpp) the leaves exchange at the rate of their ways out.
/// Parts of one torus axis that adjoin count as one; others of it share its links. docs/method/networks.md derives the
/// formulas.
/// Transfers with a root are not among these (network/transfer.hpp). Errors: an axis of a torus with more than a million places.
[[nodiscard]] Result<CollectiveLoad> collective_load(const Slice& slice, CollectiveKind kind,
                                                     const std::vector<const PlacedAxis*>& axes,
                                                     const CollectiveOptions& options = {},
                                                     const std::vector<const PlacedAxis*>& mesh = {});

}  // namespace roofline::core
