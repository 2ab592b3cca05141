// Cuts of a torus: places and sums of wires over which any algorithm must send a certain part of a collective.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algebra/rational.hpp"
#include "network/placement.hpp"
#include "network/ring_ways.hpp"
#include "network/slice.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// Longest axis of a torus that is looked at place by place.
constexpr std::int64_t most_axis_places = 1'000'000;

/// Longest ring of which wires in one direction are looked at pair by pair.
constexpr std::int64_t most_ring_places = 4096;

/// In the order of the wires. A part that goes on where another ends is one with it: they share every link.
[[nodiscard]] std::vector<Lane> joined(std::vector<Lane> lanes);

/// What collectives over the axes of a mesh ask of one torus at the least, whatever the algorithm. Each cut is a fixed set of
/// directed wires, so what several collectives send over it adds up, and the longest cut is a bound on the time of all of them.
/// They depend only on the torus and on how the mesh divides it. There are two kinds:
///
/// A box of chips and the wires into it (or out of it). Of a group with `a` of its n members inside and some outside, an
/// all-gather brings in V (n-a)/n, a reduce-scatter the sums of what the members inside keep, V a/n, an all-reduce V, an
/// all-to-all V a(n-a)/n^2; out of the box go the same with gather and scatter in each other's place.
///
/// All wires of some axes (of the parts of axes that a collective goes over: those between the places of these parts). For each
/// byte that all are to have, a tree of wires joins the n members: n-1 hops at the least; as many where a byte is summed; an
/// all-reduce needs both, and an all-to-all the way from each to each.
///
/// docs/method/networks.md derives which are taken, and which of them others imply.
class TorusCuts {
public:
    /// `mesh`: the axes that collectives go over. Only their lanes on tier `index` count. Without cuts where an axis is longer than
    /// most_axis_places.
    TorusCuts(const SliceTier& tier, std::size_t index, const std::vector<const PlacedAxis*>& mesh);

    [[nodiscard]] std::size_t size() const { return cuts_.size(); }

    /// By cut, for each byte of the array that a group over these lanes holds: what goes over it, for each of its wires. Not for
    /// permutes.
    [[nodiscard]] std::vector<Rational> loads(CollectiveKind kind, const std::vector<Lane>& lanes) const;

private:
    /// A part of an axis: `size` cells of `stride` places each, over and over; a ring if it goes round the axis.
    struct Part {
        std::int64_t stride = 1;
        std::int64_t size = 1;
        bool ring = false;

        bool operator==(const Part&) const = default;
    };
    /// Neighbouring places of an axis, and the wires into them on one line.
    struct Run {
        std::int64_t first = 0;
        std::int64_t places = 0;
        std::int64_t wires = 0;

        bool operator==(const Run&) const = default;
    };
    struct Axis {
        std::int64_t size = 1;
        bool ring = false;
    };
    enum class Kind { into, out_of, all_wires, ways_round };
    struct Cut {
        Kind kind = Kind::all_wires;
        std::vector<Run> box;  ///< by axis; a whole axis has no wires
        std::vector<std::vector<bool>>
            counted;                    ///< of all_wires, by axis: by place, whether the wire down from it counts
        std::optional<RingWays> round;  ///< of ways_round; its box is one of `copies` that these wires lead into
        std::int64_t copies = 1;
        bool inwards = true;  ///< or out of
        Rational wires;       ///< that count, in one direction of a box, both of all_wires
    };
    /// Of each axis the part in question, if any.
    using Choice = std::vector<std::optional<Part>>;
    class Groups;

    void choose(const std::vector<const PlacedAxis*>& mesh, std::size_t index);
    void add_choice(const Choice& choice);
    void add_cuts(const Choice& choice);
    void add_ways_up(std::size_t axis, const Part& part);
    void add_ways_round(std::size_t axis, const Part& part);
    void add_box(Kind kind, std::vector<Run> box);
    void add_all_wires(const Choice& choice);
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
