// The collectives: one table, from which their names, sizes, sums and directions follow everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "roofline/collective.hpp"

namespace roofline::core {

using roofline::CollectiveKind;

/// Between whom a collective goes. In `pairs` each chip of the group sends to one other, all at once; the last three have a root.
enum class Ends { all, pairs, one_to_one, all_to_one, one_to_all };

/// A collective whose measurements can stand in for those of another: `part` of it takes as long, over an array as large.
struct StandIn {
    CollectiveKind kind;
    double part;
};

/// Everything the program knows about a collective. V is the array that a group of n chips holds together; of what is summed, what
/// each of them holds.
struct CollectiveInfo {
    CollectiveKind kind;
    std::string_view id;       ///< in JSON and files of constants
    std::string_view spoken;   ///< in sentences
    std::string_view table{};  ///< the `op` of tables of measurements; "": it is not measured
    std::string_view nccl{};   ///< the test of nccl-tests, as --collective takes it; "": none is read
    Ends ends = Ends::all;
    bool sums = false;                     ///< what members hold is added up
    bool network_sums = false;             ///< a network with reduction in it takes part in that
    bool many_in = false;                  ///< what goes in has a part for each member
    bool many_out = false;                 ///< what comes out has a part from each member
    bool own_stays = false;                ///< the n-th part that is a member's own is not sent
    int rounds = 1;                        ///< 2 for a reduce-scatter and then an all-gather
    bool size_of_member = false;           ///< nccl-tests' size is that of one member's array, V/n, and not V
    std::span<const StandIn> stand_ins{};  ///< the most alike first

    /// Whether chips within a tier and then chips of the same place across tiers can do it, one after the other.
    [[nodiscard]] constexpr bool nests() const { return ends == Ends::all && !size_of_member; }
    /// The bytes that a member sends at the least, for each of the size that nccl-tests count: their bus bandwidth over their
    /// algorithm bandwidth.
    template <class Number>
    [[nodiscard]] Number bus_factor(const Number& n) const {
        return own_stays ? Number(rounds) * (n - Number(1)) / n : Number(rounds);
    }
};

// An all-reduce is a reduce-scatter and an all-gather, each with half its bytes on every wire and half its steps; in an all-to-all a
// member sends what it sends in an all-gather of as large a buffer.
inline constexpr StandIn like_all_gather[] = {{CollectiveKind::reduce_scatter, 1}, {CollectiveKind::all_reduce, 0.5}};
inline constexpr StandIn like_reduce_scatter[] = {{CollectiveKind::all_gather, 1}, {CollectiveKind::all_reduce, 0.5}};
inline constexpr StandIn like_all_reduce[] = {{CollectiveKind::reduce_scatter, 2}, {CollectiveKind::all_gather, 2}};
inline constexpr StandIn like_all_to_all[] = {
    {CollectiveKind::all_gather, 1}, {CollectiveKind::reduce_scatter, 1}, {CollectiveKind::all_reduce, 0.5}};

inline constexpr std::array all_collectives{
    CollectiveInfo{.kind = CollectiveKind::all_gather,
                   .id = "all_gather",
                   .spoken = "all-gather",
                   .table = "all_gather",
                   .nccl = "all-gather",
                   .many_out = true,
                   .own_stays = true,
                   .stand_ins = like_all_gather},
    CollectiveInfo{.kind = CollectiveKind::reduce_scatter,
                   .id = "reduce_scatter",
                   .spoken = "reduce-scatter",
                   .table = "reduce_scatter",
                   .nccl = "reduce-scatter",
                   .sums = true,
                   .many_in = true,
                   .own_stays = true,
                   .stand_ins = like_reduce_scatter},
    CollectiveInfo{.kind = CollectiveKind::all_reduce,
                   .id = "all_reduce",
                   .spoken = "all-reduce",
                   .table = "all_reduce",
                   .nccl = "all-reduce",
                   .sums = true,
                   .network_sums = true,
                   .own_stays = true,
                   .rounds = 2,
                   .stand_ins = like_all_reduce},
    CollectiveInfo{.kind = CollectiveKind::all_to_all,
                   .id = "all_to_all",
                   .spoken = "all-to-all",
                   .table = "all_to_all",
                   .nccl = "all-to-all",
                   .many_in = true,
                   .many_out = true,
                   .own_stays = true,
                   .size_of_member = true,
                   .stand_ins = like_all_to_all},
    CollectiveInfo{.kind = CollectiveKind::permute,
                   .id = "permute",
                   .spoken = "permute",
                   .table = "collective_permute",
                   .nccl = "sendrecv",
                   .ends = Ends::pairs,
                   .size_of_member = true},
    CollectiveInfo{
        .kind = CollectiveKind::send, .id = "send", .spoken = "send", .table = "send", .ends = Ends::one_to_one},
    CollectiveInfo{.kind = CollectiveKind::gather,
                   .id = "gather",
                   .spoken = "gather",
                   .ends = Ends::all_to_one,
                   .many_out = true,
                   .own_stays = true},
    CollectiveInfo{.kind = CollectiveKind::scatter,
                   .id = "scatter",
                   .spoken = "scatter",
                   .ends = Ends::one_to_all,
                   .many_in = true,
                   .own_stays = true},
    CollectiveInfo{
        .kind = CollectiveKind::broadcast, .id = "broadcast", .spoken = "broadcast", .ends = Ends::one_to_all},
};

[[nodiscard]] constexpr const CollectiveInfo& info(CollectiveKind kind) {
    return all_collectives[static_cast<std::size_t>(kind)];
}

static_assert([] {
    for (std::size_t i = 0; i < all_collectives.size(); ++i) {
        if (all_collectives[i].kind != static_cast<CollectiveKind>(i)) return false;
    }
    return true;
}());

/// "all_gather", as JSON has it; with `spoken`, "all-gather".
[[nodiscard]] constexpr std::string_view collective_name(CollectiveKind kind, bool spoken = false) {
    return spoken ? info(kind).spoken : info(kind).id;
}

/// True for a send, gather, scatter and broadcast.
[[nodiscard]] constexpr bool has_root(CollectiveKind kind) {
    return info(kind).ends != Ends::all && info(kind).ends != Ends::pairs;
}

}  // namespace roofline::core
