// The collectives: one table, from which their names, sizes, sums and directions follow everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "roofline/collective.hpp"

namespace roofline::core {

using roofline::CollectiveKind;

/// Between whom a collective goes. In `pairs` each chip of the group sends to one other, all at once; the last three
/// have a root.
enum class Ends { all, pairs, one_to_one, all_to_one, one_to_all };

/// A collective whose measurements can replace those of another: it sends the same bytes for an array `part` as large,
/// or in `part` of its time for the same array.
struct StandIn {
    CollectiveKind kind;
    double part;
};

/// Whether what members hold is added up; the last: a network with reduction in it takes part.
enum class Sums { unsummed, summed, summed_by_network };
/// Which arrays have a part for or from each member: what goes in, what comes out.
enum class MemberParts { no_parts, parts_in, parts_out, parts_both };
/// What nccl-tests call the size: V, or one member's array, V/n.
enum class CountedSize { whole, of_member };

/// Everything the program knows about a collective. V is the array that a group of n chips holds together; of what is
/// summed, what each of them holds.
struct CollectiveInfo {
    CollectiveKind kind;
    std::string_view id;      ///< in JSON and files of constants
    std::string_view spoken;  ///< in sentences
    std::string_view table;   ///< the `op` of tables of measurements; "": it is not measured
    std::string_view nccl;    ///< the test of nccl-tests, as --collective takes it; "": none is read
    Ends ends;
    Sums added;
    MemberParts parts;
    CountedSize size;
    std::span<const StandIn> stand_ins{};  ///< the most alike first
    int rounds = 1;                        ///< 2 for a reduce-scatter and then an all-gather

    [[nodiscard]] constexpr bool sums() const { return added != Sums::unsummed; }
    [[nodiscard]] constexpr bool network_sums() const { return added == Sums::summed_by_network; }
    [[nodiscard]] constexpr bool size_of_member() const { return size == CountedSize::of_member; }
    [[nodiscard]] constexpr bool many_in() const {
        return parts == MemberParts::parts_in || parts == MemberParts::parts_both;
    }
    [[nodiscard]] constexpr bool many_out() const {
        return parts == MemberParts::parts_out || parts == MemberParts::parts_both;
    }
    /// Whether the n-th part that is a member's own is not sent.
    [[nodiscard]] constexpr bool own_stays() const { return parts != MemberParts::no_parts || rounds == 2; }
    /// Whether chips within a tier and then chips of the same place across tiers can do it, one after the other.
    [[nodiscard]] constexpr bool nests() const { return ends == Ends::all && !size_of_member(); }
    /// The bytes that a member sends at the least, for each of the size that nccl-tests count: their bus bandwidth over
    /// their algorithm bandwidth.
    template <class Number>
    [[nodiscard]] Number bus_factor(const Number& n) const {
        return own_stays() ? Number(rounds) * (n - Number(1)) / n : Number(rounds);
    }
};

// An all-reduce is a reduce-scatter and an all-gather, each with half its bytes on every link; in an all-to-all a
// member sends what it sends in an all-gather of as large a buffer.
inline constexpr StandIn like_all_gather[] = {{CollectiveKind::reduce_scatter, 1}, {CollectiveKind::all_reduce, 0.5}};
inline constexpr StandIn like_reduce_scatter[] = {{CollectiveKind::all_gather, 1}, {CollectiveKind::all_reduce, 0.5}};
inline constexpr StandIn like_all_reduce[] = {{CollectiveKind::reduce_scatter, 2}, {CollectiveKind::all_gather, 2}};
inline constexpr StandIn like_all_to_all[] = {
    {CollectiveKind::all_gather, 1}, {CollectiveKind::reduce_scatter, 1}, {CollectiveKind::all_reduce, 0.5}};

inline constexpr auto all_collectives = [] {
    using enum CollectiveKind;
    using enum Ends;
    using enum Sums;
    using enum MemberParts;
    using enum CountedSize;
    return std::to_array<CollectiveInfo>({
        {all_gather, "all_gather", "all-gather", "all_gather", "all-gather", all, unsummed, parts_out, whole,
         like_all_gather},
        {reduce_scatter, "reduce_scatter", "reduce-scatter", "reduce_scatter", "reduce-scatter", all, summed, parts_in,
         whole, like_reduce_scatter},
        {all_reduce, "all_reduce", "all-reduce", "all_reduce", "all-reduce", all, summed_by_network, no_parts, whole,
         like_all_reduce, 2},
        {all_to_all, "all_to_all", "all-to-all", "all_to_all", "all-to-all", all, unsummed, parts_both, of_member,
         like_all_to_all},
        {permute, "permute", "permute", "collective_permute", "sendrecv", pairs, unsummed, no_parts, of_member},
        {send, "send", "send", "send", "", one_to_one, unsummed, no_parts, whole},
        {gather, "gather", "gather", "", "", all_to_one, unsummed, parts_out, whole},
        {scatter, "scatter", "scatter", "", "", one_to_all, unsummed, parts_in, whole},
        {broadcast, "broadcast", "broadcast", "", "", one_to_all, unsummed, no_parts, whole},
    });
}();

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
