// A slice as torus axes and tiers of switches, and the links around boxes of its chips.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algebra/rational.hpp"
#include "network/leaf.hpp"
#include "network/slice.hpp"
#include "network/transfer.hpp"

namespace roofline::core {

/// The part of one axis that a box of chips takes: a range of positions, both ends included.
struct Part {
    std::int64_t first = 0;
    std::int64_t last = 0;
    int sides = 0;      ///< on a torus: the number of ends at which the axis continues
    bool leaf = false;  ///< everything under the leaves of these positions

    [[nodiscard]] std::int64_t places() const { return last - first + 1; }
    [[nodiscard]] bool holds(std::int64_t place) const { return place >= first && place <= last; }
};

/// An axis of a torus, or a whole tier of another kind.
class LinkAxis {
public:
    LinkAxis(const Slice& slice, std::size_t tier, std::size_t axis);

    [[nodiscard]] std::size_t tier() const { return tier_; }
    [[nodiscard]] std::int64_t size() const { return size_; }
    [[nodiscard]] bool line() const { return line_; }  ///< an axis of a torus
    [[nodiscard]] bool ring() const { return ring_; }
    [[nodiscard]] double hop_s() const { return hop_s_; }
    [[nodiscard]] std::int64_t distance(std::int64_t a, std::int64_t b) const;
    [[nodiscard]] std::int64_t farthest(std::int64_t from) const;

    /// Returns the part with these positions on the axis.
    [[nodiscard]] Part part(std::int64_t first, std::int64_t last) const;
    /// Returns the parts around a position: the whole axis; the position alone; on an open axis everything up to it or
    /// from it on; with leaves, the leaf around it. No other part with this position has fewer positions without more
    /// links.
    [[nodiscard]] std::vector<Part> parts_around(std::int64_t place) const;
    /// Returns the whole leaf around a position; empty when the tier has no leaves, or only one.
    [[nodiscard]] std::optional<Part> leaf_around(std::int64_t place) const;

    /// Returns the links between `chips` of a box and the rest of the `all` chips that one instance of the tier
    /// connects.
    [[nodiscard]] Rational links(const Part& part, std::int64_t chips, std::int64_t all, bool whole_nodes) const;

private:
    std::size_t tier_;
    std::int64_t size_;
    bool ring_;
    bool line_ = false;
    bool pairs_ = false;
    std::optional<Leaves> leaves_;
    double hop_s_ = 0;
};

/// The number of hops from one chip to another, and their published latency.
struct Hops {
    std::int64_t hops = 0;
    double latency_s = 0;
};

class SliceLinks {
public:
    explicit SliceLinks(const Slice& slice);

    [[nodiscard]] const std::vector<LinkAxis>& axes() const { return axes_; }
    [[nodiscard]] std::vector<Part> whole() const;

    /// Returns the links out of a box, which has one part per axis, by tier of the slice.
    [[nodiscard]] std::vector<Rational> around(const std::vector<Part>& box) const;

    /// Visits every box around `chip` that leaves something out: take(its chips, whether it holds `other`, its links).
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

    /// Returns the hops to one chip, or, if `to` is null, to the farthest. All chips that a tier of switches connects
    /// are one hop apart; on a torus a chip meets those of its own position in the inner tiers.
    [[nodiscard]] Hops path(const Chip& from, const Chip* to) const;

private:
    // Advances to the next choice of one part per axis; the first one is the whole of every axis.
    static bool next(std::vector<std::size_t>& choice, const std::vector<std::vector<Part>>& parts);

    std::size_t tiers_;
    std::vector<LinkAxis> axes_;
};

/// Adds a cut unless another one implies it, and drops those that it implies.
void add_cut(std::vector<TransferCut>& cuts, TransferCut cut);

}  // namespace roofline::core
