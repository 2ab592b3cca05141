// The steps of a search for a resharding: what one collective or slice makes of a sharding.
#pragma once

#include <algorithm>
#include <cstddef>

#include "layout/sharding.hpp"

namespace roofline::core {

/// The moves from one sharding that may be part of a cheapest path to the target. Slices only go towards the target.
/// Axes are exchanged, and partial sums scattered, to a dimension that the target splits over them, in the target's
/// order or to be permuted there. Sums that the target wants whole may be scattered too, over the largest dimension,
/// and gathered later together with others. Where the target is unreduced, what a member has becomes a partial sum at
/// no cost: a shard is surrounded by zeros, and of an array that all members have, one member keeps it while the others
/// hold zeros. Calls `visit(there, kind or nullptr, axes, gathered)`; gathered: V is the array that each member holds
/// afterwards, otherwise the one before.
template <class Visit>
class TargetMoves {
public:
    TargetMoves(const Sharding& here, const Sharding& target, std::size_t largest_dim, std::size_t permuted_dim,
                const Visit& visit)
        : here_(here),
          target_(target),
          used_(here.used()),
          largest_dim_(largest_dim),
          permuted_dim_(permuted_dim),
          visit_(visit) {}

    void all() const {
        for (std::size_t d = 0; d < here_.rank; ++d) {
            slices(d);
            scatters(d);
            exchanges(d);
            if (!target_.at_chip() && d != permuted_dim_) permutes(d);
        }
        if (!target_.at_chip()) gathers();  // otherwise to that chip alone
        sums();
        zeros();
    }

private:
    // The axes that dimension d still lacks in the target's order.
    [[nodiscard]] AxisList missing(std::size_t d) const {
        const AxisList have = here_.dims[d];
        const AxisList goal = target_.dims[d];
        return have.size() < goal.size() && goal.starts_with(have) ? goal.from(have.size()) : AxisList{};
    }

    void slices(std::size_t d) const {
        const AxisList missing = this->missing(d);
        for (std::size_t count = 1; count <= missing.size(); ++count) {
            const AxisList run = missing.first(count);
            if ((run.mask() & used_) != 0) return;
            Sharding there = here_;
            there.dims[d].append(run);
            visit_(there, nullptr, run, false);
        }
    }

    // Any of the unreduced axes that may go there: first those that the target has there next, then the others.
    void scatters(std::size_t d) const {
        AxisMask open = here_.unreduced & static_cast<AxisMask>(~target_.unreduced);
        AxisMask elsewhere = 0;
        for (std::size_t i = 0; i < target_.rank; ++i) {
            if (i != d) elsewhere |= target_.dims[i].mask();
        }
        open &= static_cast<AxisMask>(d == largest_dim_ ? ~elsewhere : target_.dims[d].mask());
        const AxisList missing = this->missing(d);
        for (AxisMask set = open; set != 0; set = static_cast<AxisMask>((set - 1) & open)) {
            AxisList run;
            while (run.size() < missing.size() && (unsigned{set} >> missing[run.size()] & 1U) != 0) {
                run.push_back(missing[run.size()]);
            }
            run.append(listed(static_cast<AxisMask>(set & ~run.mask())));
            Sharding there = here_;
            there.dims[d].append(run);
            there.unreduced = static_cast<AxisMask>(there.unreduced & ~set);
            const CollectiveKind kind = CollectiveKind::reduce_scatter;
            visit_(there, &kind, run, false);
        }
    }

    // The last axes of dimension d move to the end of another dimension.
    void exchanges(std::size_t d) const {
        const AxisList have = here_.dims[d];
        const std::size_t common = common_with_target(d);
        for (std::size_t kept = common; kept < have.size(); ++kept) {
            for (std::size_t other = 0; other < here_.rank; ++other) {
                const AxisMask mask = have.from(kept).mask();
                if (other == d || (mask & ~target_.dims[other].mask()) != 0) continue;
                Sharding there = here_;
                there.dims[d] = have.first(kept);
                there.dims[other].append(have.from(kept));
                const CollectiveKind kind = CollectiveKind::all_to_all;
                visit_(there, &kind, have.from(kept), false);
            }
        }
    }

    // Trailing axes of one or several dimensions are gathered together. Axes that the target has at the same place
    // stay, because gathering them would only make every other move larger.
    void gathers() const {
        std::array<std::size_t, Sharding::max_dims> drop{};
        while (true) {
            std::size_t d = 0;
            while (d < here_.rank && drop[d] == here_.dims[d].size() - common_with_target(d)) drop[d++] = 0;
            if (d == here_.rank) return;
            ++drop[d];
            Sharding there = here_;
            AxisList axes;
            for (std::size_t i = 0; i < here_.rank; ++i) {
                const std::size_t kept = here_.dims[i].size() - drop[i];
                axes.append(here_.dims[i].from(kept));
                there.dims[i] = here_.dims[i].first(kept);
            }
            const CollectiveKind kind = CollectiveKind::all_gather;
            visit_(there, &kind, axes, true);
        }
    }

    // The number of leading axes of a dimension that agree with the target; those stay.
    [[nodiscard]] std::size_t common_with_target(std::size_t d) const {
        std::size_t common = 0;
        const AxisList have = here_.dims[d];
        const AxisList goal = target_.dims[d];
        while (common < have.size() && common < goal.size() && have[common] == goal[common]) ++common;
        return common;
    }

    // Any of the partial sums that must be completed.
    void sums() const {
        const AxisMask open = here_.unreduced & static_cast<AxisMask>(~target_.unreduced);
        for (AxisMask set = open; set != 0; set = static_cast<AxisMask>((set - 1) & open)) {
            Sharding there = here_;
            there.unreduced = static_cast<AxisMask>(there.unreduced & ~set);
            const CollectiveKind kind = CollectiveKind::all_reduce;
            visit_(there, &kind, listed(set), false);
        }
    }

    // An array that is whole over an axis becomes a partial sum over it; so does an array that is split over it, if it
    // is the last axis. Until then a whole array may be split over the axis, so that collectives over other axes have
    // less to move.
    void zeros() const {
        const auto wanted = static_cast<AxisMask>(target_.unreduced & ~here_.unreduced);
        const auto whole = static_cast<AxisMask>(wanted & ~used_);
        if (whole != 0) {
            Sharding there = here_;
            there.unreduced = static_cast<AxisMask>(there.unreduced | whole);
            visit_(there, nullptr, listed(whole), false);
            for (std::size_t d = 0; d < here_.rank && !target_.at_chip(); ++d) {
                there = here_;
                there.dims[d].append(listed(whole));
                visit_(there, nullptr, listed(whole), false);
            }
        }
        for (std::size_t d = 0; d < here_.rank; ++d) {
            const AxisList have = here_.dims[d];
            std::size_t kept = have.size();
            while (kept > common_with_target(d) && (unsigned{wanted} >> have[kept - 1] & 1U) != 0) --kept;
            if (kept == have.size()) continue;
            const AxisList run = have.from(kept);
            Sharding there = here_;
            there.dims[d] = have.first(kept);
            there.unreduced = static_cast<AxisMask>(there.unreduced | run.mask());
            visit_(there, nullptr, run, false);
        }
    }

    // The axes of a dimension change their order: chips swap their shards.
    void permutes(std::size_t d) const {
        const AxisList have = here_.dims[d];
        constexpr std::size_t most = 4;
        if (have.size() < 2 || have.size() > most) return;
        std::array<std::size_t, most> order{};
        const AxisList rising = listed(have.mask());
        for (std::size_t i = 0; i < rising.size() && i < most; ++i) order[i] = rising[i];
        const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(rising.size(), most));
        do {
            AxisList other;
            for (auto axis = order.begin(); axis != end; ++axis) other.push_back(*axis);
            if (other == have) continue;
            Sharding there = here_;
            there.dims[d] = other;
            const CollectiveKind kind = CollectiveKind::permute;
            visit_(there, &kind, have, false);
        } while (std::next_permutation(order.begin(), end));
    }

    const Sharding& here_;
    const Sharding& target_;
    AxisMask used_;
    std::size_t largest_dim_;   ///< the dimension of which a chip has most
    std::size_t permuted_dim_;  ///< the one that a permute has just reordered; a single permute is no dearer than two
    const Visit& visit_;
};

}  // namespace roofline::core
