// Transfers from one chip to another, to all or from all: the loads on links, and the number of sequential hops.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/rational.hpp"
#include "base/result.hpp"
#include "network/placement.hpp"
#include "network/slice.hpp"
#include "program/collective_info.hpp"

namespace roofline::core {

/// A chip of a slice: its place on every axis of every tier, innermost first, as Slice::shape_text lists them without
/// the tiers that the slice does without. 0,3 on a 4x4; 7,15 is the last of h100-sxm:8x16.
struct Chip {
    std::vector<std::int64_t> at;

    bool operator==(const Chip&) const = default;
};

/// Reads "0,3" or "(0, 3)". Errors: no numbers, too few or too many of them, a chip outside of the slice.
[[nodiscard]] Result<Chip> parse_chip(const Slice& slice, std::string_view text);
[[nodiscard]] std::string chip_text(const Chip& chip);  ///< "(0,3)"

/// Returns the chip at these coordinates of a mesh, one per axis.
[[nodiscard]] Chip chip_at(const Slice& slice, const std::vector<PlacedAxis>& mesh,
                           const std::vector<std::int64_t>& coordinates);

/// Returns the links of a chip to all others, by tier of the slice, as in TransferCut.
[[nodiscard]] std::vector<Rational> chip_links(const Slice& slice, const Chip& chip);

/// The bytes that must leave (or reach) some set of chips, and the links between it and the rest.
struct TransferCut {
    Rational bytes;  ///< per byte of V
    std::vector<Rational>
        links;  ///< by tier of the slice: links of a torus or full mesh, otherwise ports; in one direction

    bool operator==(const TransferCut&) const = default;
};

struct TransferLoad {
    CollectiveKind kind = CollectiveKind::send;
    /// None implies another. With rates W of the tiers the transfer takes max over cuts of V bytes / sum (links W) at
    /// the least.
    std::vector<TransferCut> cuts;
    std::int64_t hops = 0;  ///< sequential hops, to the farthest chip concerned
    double latency_s = 0;   ///< their published latency; tiers without one add nothing

    /// Returns the time of V over the tightest cut, for this many bytes; `rates` in bytes/s of one link or port, by
    /// tier of the slice.
    [[nodiscard]] double transfer_s(double bytes, const std::vector<double>& rates) const;
};

/// Returns the load of a send over all paths at once: V over the minimum cut between the two chips. On a torus that is
/// among the boxes around either chip (a corner of an open 4x4 has two links); on a full mesh the other chips forward,
/// so it is a chip's n-1 links; on a switch it is a port. If tiers are nested, a cut counts the links of all of them; a
/// tier of switches connects all chips inside of it, each by its own port. The result bounds any schedule, and a
/// pipelined one reaches it.
[[nodiscard]] Result<TransferLoad> send_load(const Slice& slice, const Chip& from, const Chip& to);

/// With one root, over all chips of the slice: all hold V/n each and it gathers V; it holds V and scatters V/n to each;
/// it holds V and all come to hold V. Gather and scatter: what a set of chips around the root lacks, V (n - |S|)/n,
/// over the wires into it: V (n-1)/n over the root's links, or more where a narrow part of the slice lies between.
/// Broadcast: V over the least cut anywhere (Edmonds: so many disjoint trees span the chips). On a torus that is the
/// sum of the ways into a corner,
/// 2 for a ring and 1 for an open axis, wherever the root is. An array may lie in fewer `parts` than there are chips
/// (0: as many), so that several hold each: chips around the root hold V |S|/parts at the most, and a set S elsewhere
/// wants ceil(parts |S|/n) parts at the least. A broadcast is a scatter in one part. Errors: a send or permute, which
/// have no root.
[[nodiscard]] Result<TransferLoad> rooted_load(const Slice& slice, CollectiveKind kind, const Chip& root,
                                               std::int64_t parts = 0);

}  // namespace roofline::core
