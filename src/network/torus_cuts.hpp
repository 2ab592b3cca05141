// Cuts of a torus: sets of links over which any algorithm must send a certain part of a collective.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algebra/rational.hpp"
#include "network/placement.hpp"
#include "network/ring_paths.hpp"
#include "network/slice.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// The longest axis of a torus that is analysed position by position.
constexpr std::int64_t max_axis_places = 1'000'000;

/// The longest ring whose links in one direction are analysed pair by pair.
constexpr std::int64_t max_ring_places = 4096;

/// Returns the lanes in the order of the links. Parts that continue each other are merged, because they share every
/// link.
[[nodiscard]] std::vector<Lane> joined(std::vector<Lane> lanes);

/// The minimum load of collectives over the axes of a mesh on one torus, for any algorithm. Each cut is a fixed set of
/// directed links, so the bytes that several collectives send over it add up, and the longest cut bounds the time of
/// all of them. The cuts depend only on the torus and on how the mesh divides it. There are two kinds:
///
/// A box of chips and the links into it (or out of it). For a group with `a` of its n members inside and some outside,
/// an all-gather brings in V (n-a)/n, a reduce-scatter the sums that the members inside keep, V a/n, an all-reduce V,
/// an all-to-all V a(n-a)/n^2; the same goes out of the box with gather and scatter exchanged.
///
/// All links of some axes (of the parts of axes that a collective uses: those between the positions of these parts).
/// For each byte that all members are to have, a tree of links connects the n members, which takes at least n-1 hops; a
/// byte that is summed takes as many; an all-reduce needs both, and an all-to-all the paths from each to each.
///
/// docs/method/networks.md derives which cuts are taken, and which of them are implied by others.
class TorusCuts {
public:
    /// `mesh`: the axes that collectives use. Only their lanes on tier `index` count. There are no cuts if an axis is
    /// longer than max_axis_places.
    TorusCuts(const SliceTier& tier, std::size_t index, const std::vector<const PlacedAxis*>& mesh);

    [[nodiscard]] std::size_t size() const { return cuts_.size(); }

    /// Returns, by cut, the bytes over each of its links per byte of the array that a group over these lanes holds. Not
    /// defined for permutes.
    [[nodiscard]] std::vector<Rational> loads(CollectiveKind kind, const std::vector<Lane>& lanes) const;

private:
    /// A part of an axis: `size` cells of `stride` positions each, repeated; a ring if it goes round the axis.
    struct Part {
        std::int64_t stride = 1;
        std::int64_t size = 1;
        bool ring = false;

        bool operator==(const Part&) const = default;
    };
    /// Neighbouring positions of an axis, and the links into them on one line.
    struct Run {
        std::int64_t first = 0;
        std::int64_t places = 0;
        std::int64_t links = 0;

        bool operator==(const Run&) const = default;
    };
    struct Axis {
        std::int64_t size = 1;
        bool ring = false;
    };
    enum class Kind { into, out_of, all_links, paths_round };
    struct Cut {
        Kind kind = Kind::all_links;
        std::vector<Run> box;  ///< by axis; a whole axis has no links
        std::vector<std::vector<bool>>
            counted;                     ///< for all_wires, by axis and position: whether the link down from it counts
        std::optional<RingPaths> round;  ///< for ways_round; its box is one of `copies` that these links lead into
        std::int64_t copies = 1;
        bool inwards = true;  ///< into the box, otherwise out of it
        Rational links;       ///< counted links, in one direction for a box, in both for all_wires
    };
    /// The part of each axis in question, if any.
    using Choice = std::vector<std::optional<Part>>;
    class Groups;

    void choose(const std::vector<const PlacedAxis*>& mesh, std::size_t index);
    void add_choice(const Choice& choice);
    void add_cuts(const Choice& choice);
    void add_paths_up(std::size_t axis, const Part& part);
    void add_paths_round(std::size_t axis, const Part& part);
    void add_box(Kind kind, std::vector<Run> box);
    void add_all_links(const Choice& choice);
    [[nodiscard]] Part part_of(const Lane& lane) const;
    [[nodiscard]] Run whole(std::size_t axis) const { return {0, axes_[axis].size, 0}; }
    [[nodiscard]] Run run(std::size_t axis, const Part& part, std::int64_t cells) const;
    [[nodiscard]] std::int64_t chips() const;

    [[nodiscard]] static Rational crossing(CollectiveKind kind, const Cut& cut, const std::vector<Groups>& groups,
                                           std::int64_t members);
    [[nodiscard]] static Rational in_all(CollectiveKind kind, const Cut& cut, const std::vector<Groups>& groups,
                                         std::int64_t members);

    [[nodiscard]] static Rational round_ring(CollectiveKind kind, const Cut& cut, const std::vector<Groups>& groups,
                                             std::int64_t members);

    std::vector<Axis> axes_;
    std::vector<Choice> choices_;
    std::vector<Cut> cuts_;
};

}  // namespace roofline::core
