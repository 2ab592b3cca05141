#include "network/permutation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "network/slice_links.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t max_permuted = 1'000'000;
constexpr std::int64_t max_places = 512;

Status few_enough(const Slice& slice) {
    if (slice.chips() <= max_permuted) return {};
    return fail(
        "too_many_chips",
        fmt::format("a permutation is analysed chip by chip, and {} has {} chips", slice.shape_text(), slice.chips()),
        fmt::format("at most {}", max_permuted));
}

void set_place(Chip& chip, const SliceLinks& network, std::int64_t number) {
    for (std::size_t i = 0; i < chip.at.size(); ++i) {
        chip.at[i] = number % network.axes()[i].size();
        number /= network.axes()[i].size();
    }
}

Status one_to_one(const std::vector<std::int64_t>& to) {
    std::vector<bool> taken(to.size(), false);
    for (const std::int64_t target : to) {
        if (target == -1) continue;
        if (target < -1 || target >= static_cast<std::int64_t>(to.size())) {
            return fail("bad_permutation",
                        fmt::format("a permutation of {} chips sends to chip {}", to.size(), target));
        }
        if (taken[static_cast<std::size_t>(target)]) {
            return fail("bad_permutation", fmt::format("two chips of a permutation send to chip {}", target));
        }
        taken[static_cast<std::size_t>(target)] = true;
    }
    return {};
}

/// The numbers of messages from each position of one axis to each.
class Counts {
public:
    explicit Counts(std::int64_t places)
        : places_(places), sum_(static_cast<std::size_t>((places + 1) * (places + 1)), 0) {}

    void add(std::int64_t from, std::int64_t to) { ++at(from + 1, to + 1); }
    void finish() {
        for (std::int64_t i = 1; i <= places_; ++i) {
            for (std::int64_t j = 1; j <= places_; ++j) at(i, j) += at(i - 1, j) + at(i, j - 1) - at(i - 1, j - 1);
        }
    }
    /// The greater of the number of messages that leave the positions and of those that enter them.
    [[nodiscard]] std::int64_t across(const Part& part) const {
        const std::int64_t a = part.first;
        const std::int64_t b = part.last + 1;
        const std::int64_t stay = get(b, b) - get(a, b) - get(b, a) + get(a, a);
        const std::int64_t leave = get(b, places_) - get(a, places_);
        const std::int64_t come = get(places_, b) - get(places_, a);
        return std::max(leave, come) - stay;
    }

private:
    std::int64_t& at(std::int64_t i, std::int64_t j) { return sum_[static_cast<std::size_t>(i * (places_ + 1) + j)]; }
    [[nodiscard]] std::int64_t get(std::int64_t i, std::int64_t j) const {
        return sum_[static_cast<std::size_t>(i * (places_ + 1) + j)];
    }
    std::int64_t places_;
    std::vector<std::int64_t> sum_;
};

void add_runs(std::vector<TransferCut>& cuts, const SliceLinks& network, std::size_t which, const Counts& counts) {
    const LinkAxis& axis = network.axes()[which];
    std::vector<Part> box = network.whole();
    const auto add = [&](const Part& part) {
        const std::int64_t crossing = counts.across(part);
        if (crossing == 0) return;
        box[which] = part;
        add_cut(cuts, {Rational(crossing), network.around(box)});
    };
    for (std::int64_t first = 0; first < axis.size(); ++first) {
        // Runs that begin inside an open axis have two sides and are never tighter than those from its ends; on a ring
        // they are the complements of these.
        if (first > 0 && axis.line() && !axis.ring()) break;
        for (std::int64_t last = first; last < axis.size(); ++last) {
            if (last - first + 1 < axis.size()) add(axis.part(first, last));
            if (!axis.line()) break;
        }
        if (const auto leaf = axis.leaf_around(first)) add(*leaf);
    }
}

// A message that moves d positions up a ring of L goes d up or L - d down. If an up link counts L - e and a down link
// e, it passes at least min(d (L - e), (L - d) e) out of a total of L per position. So messages that all go the same
// way cannot use the other half of the links as well. This holds for every e from 1 to L - 1.
void add_turns(std::vector<TransferCut>& cuts, const std::vector<std::int64_t>& moved_up, std::int64_t chips) {
    const auto places = static_cast<std::int64_t>(moved_up.size());
    for (std::int64_t e = 1; e < places; ++e) {
        std::int64_t passed = 0;
        for (std::int64_t d = 1; d < places; ++d) {
            passed += moved_up[static_cast<std::size_t>(d)] * std::min(d * (places - e), (places - d) * e);
        }
        if (passed > 0) add_cut(cuts, {Rational(passed), {Rational(chips) * Rational(places)}});
    }
}

Rational links_of(const LinkAxis& axis, std::int64_t chips) {
    const bool closed = axis.ring() && axis.size() > 2;
    return Rational(2 * (closed ? axis.size() : axis.size() - 1)) * Rational(chips / axis.size());
}

}  // namespace

Result<TransferLoad> permutation_load(const Slice& slice, const std::vector<std::int64_t>& to) {
    ROOFLINE_CHECK(few_enough(slice));
    if (static_cast<std::int64_t>(to.size()) != slice.chips()) {
        return fail("bad_permutation", fmt::format("a permutation of {} chips on the slice {}, which has {}", to.size(),
                                                   slice.shape_text(), slice.chips()));
    }
    ROOFLINE_CHECK(one_to_one(to));
    const SliceLinks network(slice);
    const std::vector<LinkAxis>& axes = network.axes();
    std::vector<Counts> counts;
    for (const LinkAxis& axis : axes) counts.emplace_back(axis.size() <= max_places ? axis.size() : 0);
    TransferLoad load;
    load.kind = CollectiveKind::permute;
    std::int64_t all_hops = 0;
    std::vector<std::vector<std::int64_t>> moved_up;
    for (const LinkAxis& axis : axes) moved_up.emplace_back(axis.size() <= max_places ? axis.size() : 0, 0);
    std::set<std::int64_t> seen;  // kinds of ends, by the sides of their positions
    std::vector<Part> box = network.whole();
    Chip from{std::vector<std::int64_t>(axes.size())};
    Chip target = from;
    for (std::size_t i = 0; i < to.size(); ++i) {
        const auto here = static_cast<std::int64_t>(i);
        if (to[i] == -1 || to[i] == here) continue;
        set_place(from, network, here);
        set_place(target, network, to[i]);
        for (const Chip* end : {&from, &target}) {
            std::int64_t kind = 0;
            for (std::size_t k = 0; k < axes.size(); ++k) {
                box[k] = axes[k].part(end->at[k], end->at[k]);
                kind = kind * 3 + box[k].sides;
            }
            if (seen.insert(kind).second) add_cut(load.cuts, {Rational(1), network.around(box)});
        }
        for (std::size_t k = 0; k < axes.size(); ++k) {
            const std::int64_t size = axes[k].size();
            if (size > max_places) continue;
            counts[k].add(from.at[k], target.at[k]);
            ++moved_up[k][static_cast<std::size_t>((target.at[k] - from.at[k] + size) % size)];
        }
        const Hops way = network.path(from, &target);
        all_hops += way.hops;
        load.hops = std::max(load.hops, way.hops);
        load.latency_s = std::max(load.latency_s, way.latency_s);
    }
    if (all_hops == 0) return load;
    for (std::size_t k = 0; k < axes.size(); ++k) {
        if (axes[k].size() > max_places) continue;
        counts[k].finish();
        add_runs(load.cuts, network, k, counts[k]);
    }
    if (slice.tiers.size() == 1 && axes.front().line()) {
        Rational links(0);
        for (std::size_t k = 0; k < axes.size(); ++k) {
            links += links_of(axes[k], slice.chips());
            if (axes[k].ring() && axes[k].size() > 2) add_turns(load.cuts, moved_up[k], slice.chips());
        }
        add_cut(load.cuts, {Rational(all_hops), {links}});
    }
    return load;
}

namespace {

/// The digits of a chip's number for mesh axes.
class MeshDigits {
public:
    explicit MeshDigits(const Slice& slice) {
        for (const SliceTier& tier : slice.tiers) {
            strides_.emplace_back();
            for (const std::int64_t size : tier.shape) {
                strides_.back().push_back(chips_);
                chips_ *= size;
            }
        }
    }

    [[nodiscard]] std::int64_t chips() const { return chips_; }
    [[nodiscard]] std::int64_t place_of(const PlacedAxis& axis, std::int64_t chip) const {
        std::int64_t place = 0;
        std::int64_t inside = 1;
        for (const Lane& lane : axis.lanes) {
            place += chip / (strides_[lane.tier][lane.axis] * lane.stride) % lane.size * inside;
            inside *= lane.size;
        }
        return place;
    }
    /// Returns what a position on an axis adds to the number.
    [[nodiscard]] std::int64_t number_of(const PlacedAxis& axis, std::int64_t place) const {
        std::int64_t number = 0;
        for (const Lane& lane : axis.lanes) {
            number += place % lane.size * strides_[lane.tier][lane.axis] * lane.stride;
            place /= lane.size;
        }
        return number;
    }

private:
    std::vector<std::vector<std::int64_t>> strides_;  ///< by tier and axis: number of chips between neighbours
    std::int64_t chips_ = 1;
};

}  // namespace

Result<std::vector<std::int64_t>> next_along(const Slice& slice, const std::vector<const PlacedAxis*>& axes) {
    ROOFLINE_CHECK(few_enough(slice));
    const MeshDigits digits(slice);
    std::vector<std::int64_t> to;
    for (std::int64_t chip = 0; chip < digits.chips(); ++chip) {
        std::int64_t target = chip;
        bool last = true;  // on some axis the last chip continues with the first of the next position on the outer axes
        for (std::size_t i = axes.size(); last && i-- > 0;) {
            const std::int64_t place = digits.place_of(*axes[i], chip);
            last = place + 1 == axes[i]->size;
            target += digits.number_of(*axes[i], last ? 0 : place + 1) - digits.number_of(*axes[i], place);
        }
        to.push_back(last ? -1 : target);
    }
    return to;
}

Result<std::vector<std::int64_t>> reorder(const Slice& slice, const std::vector<const PlacedAxis*>& before,
                                          const std::vector<const PlacedAxis*>& after) {
    ROOFLINE_CHECK(few_enough(slice));
    if (before.size() != after.size() || !std::is_permutation(before.begin(), before.end(), after.begin())) {
        return fail("bad_permutation", "the two orders of a reordering name different mesh axes");
    }
    const MeshDigits digits(slice);
    std::vector<std::int64_t> to;
    for (std::int64_t chip = 0; chip < digits.chips(); ++chip) {
        std::int64_t part = 0;
        std::int64_t target = chip;
        for (const PlacedAxis* axis : before) {
            const std::int64_t place = digits.place_of(*axis, chip);
            part = part * axis->size + place;
            target -= digits.number_of(*axis, place);
        }
        for (std::size_t i = after.size(); i-- > 0;) {
            target += digits.number_of(*after[i], part % after[i]->size);
            part /= after[i]->size;
        }
        to.push_back(target);
    }
    return to;
}

}  // namespace roofline::core
