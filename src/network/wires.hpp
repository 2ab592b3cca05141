// A slice as axes and tiers of switches, and the wires around boxes of its chips.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algebra/rational.hpp"
#include "network/leaf.hpp"
#include "network/slice.hpp"
#include "network/transfer.hpp"

namespace roofline::core {

/// What a box of chips takes of one axis: the places between two, both counted.
struct Part {
    std::int64_t first = 0;
    std::int64_t last = 0;
    int sides = 0;      ///< on a torus: of how many ends the axis goes on
    bool leaf = false;  ///< all that lies under the leaves of these places

    [[nodiscard]] std::int64_t places() const { return last - first + 1; }
    [[nodiscard]] bool holds(std::int64_t place) const { return place >= first && place <= last; }
};

/// An axis of a torus, or a whole tier of another kind.
class WireAxis {
public:
    WireAxis(const Slice& slice, std::size_t tier, std::size_t axis);

    [[nodiscard]] std::size_t tier() const { return tier_; }
    [[nodiscard]] std::int64_t size() const { return size_; }
    [[nodiscard]] bool line() const { return line_; }  ///< of a torus
    [[nodiscard]] bool ring() const { return ring_; }
    [[nodiscard]] double hop_s() const { return hop_s_; }
    [[nodiscard]] std::int64_t distance(std::int64_t a, std::int64_t b) const;
    [[nodiscard]] std::int64_t farthest(std::int64_t from) const;

    /// These places, as they lie on the axis.
    [[nodiscard]] Part part(std::int64_t first, std::int64_t last) const;
    /// The whole axis; the place alone; and on an open axis all up to it or from it on; with leaves, the leaf around it. No other
    /// part with this place has fewer places without more wires.
    [[nodiscard]] std::vector<Part> parts_around(std::int64_t place) const;
    /// The whole leaf around a place; empty when the tier has none, or one.
    [[nodiscard]] std::optional<Part> leaf_around(std::int64_t place) const;

    /// Wires between `chips` of a box and the others of the `all` that one instance of the tier joins.
    [[nodiscard]] Rational wires(const Part& part, std::int64_t chips, std::int64_t all, bool whole_nodes) const;

private:
    std::size_t tier_;
    std::int64_t size_;
    bool ring_;
    bool line_ = false;
    bool pairs_ = false;
    std::optional<Leaves> leaves_;
    double hop_s_ = 0;
};

/// The hops from one chip to another, and their published latency.
struct Hops {
    std::int64_t hops = 0;
    double latency_s = 0;
};

class Wires {
public:
    explicit Wires(const Slice& slice);

    [[nodiscard]] const std::vector<WireAxis>& axes() const { return axes_; }
    [[nodiscard]] std::vector<Part> whole() const;

    /// Out of a box, one part an axis, by tier of the slice.
    [[nodiscard]] std::vector<Rational> around(const std::vector<Part>& box) const;

    /// Every box around `chip` that leaves something out: take(its chips, whether it holds `other`, its wires).
    template <class Take>
    void boxes_around(const Chip& chip, const Chip& other, Take take) const {
        std::vector<std::vector<Part>> parts;
        for (std::size_t i = 0; i < axes_.size(); ++i) parts.push_back(axes_[i].parts_around(chip.at[i]));
        std::vector<std::size_t> choice(axes_.size(), 0);
        std::vector<Part> box = whole();
        while (next(choice, parts)) {
            std::int64_t chips = 1;
            bool holds = true;
            for (std::size_t i = 0; i < axes_.size(); ++i) {
                box[i] = parts[i][choice[i]];
                chips *= box[i].places();
                holds = holds && box[i].holds(other.at[i]);
            }
            take(chips, holds, around(box));
        }
    }

    /// To one chip, or (without one) to the farthest. All chips that a tier of switches joins are a hop apart; on a torus a chip
    /// meets those of its own place in the tiers inside.
    [[nodiscard]] Hops way(const Chip& from, const Chip* to) const;

private:
    // The next choice of one part an axis, the first being the whole of all.
    static bool next(std::vector<std::size_t>& choice, const std::vector<std::vector<Part>>& parts);

    std::size_t tiers_;
    std::vector<WireAxis> axes_;
};

/// Adds a cut unless another implies it, and drops those that it implies.
void add_cut(std::vector<TransferCut>& cuts, TransferCut cut);

}  // namespace roofline::core
