#include "layout/reshard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace roofline {

namespace {

/// Steps from one sharding. Only axes that the target has at that place are ever appended: any other place is a detour.
/// `visit(there, kind or nullptr, axes, gathered)`; gathered: the group's array is what each member holds afterwards, else before.
template <class Visit>
class Steps {
public:
    Steps(const Sharding& here, const Sharding& target, const Visit& visit)
        : here_(here), target_(target), used_(here.used()), visit_(visit) {}

    void all() const {
        for (std::size_t d = 0; d < here_.rank; ++d) towards(d);
        gathers();
        sums();
        for (std::size_t d = 0; d < here_.rank; ++d) permutes(d);
    }

private:
    // The axes that bring dimension d further towards the target, the shortest run first: sliced off, where nothing else uses
    // them; scattered, where they are partial sums; exchanged, where they stand last in another dimension.
    void towards(std::size_t d) const {
        const AxisList have = here_.dims[d];
        const AxisList goal = target_.dims[d];
        if (have.size() >= goal.size() || !goal.starts_with(have)) return;
        const AxisList missing = goal.from(have.size());
        for (std::size_t count = 1; count <= missing.size(); ++count) {
            const AxisList run = missing.first(count);
            const AxisMask mask = run.mask();
            Sharding there = here_;
            there.dims[d].append(run);
            if ((mask & used_) == 0) visit_(there, nullptr, run, false);
            if ((mask & here_.unreduced & ~target_.unreduced) == mask) {
                there.unreduced = static_cast<AxisMask>(there.unreduced & ~mask);
                const CollectiveKind kind = CollectiveKind::reduce_scatter;
                visit_(there, &kind, run, false);
                there.unreduced = here_.unreduced;
            }
            for (std::size_t other = 0; other < here_.rank; ++other) exchange(d, other, run, there);
        }
    }

    void exchange(std::size_t d, std::size_t other, AxisList run, Sharding there) const {
        const AxisList axes = here_.dims[other];
        if (other == d || axes.size() < run.size() || axes.from(axes.size() - run.size()) != run) return;
        there.dims[other] = axes.first(axes.size() - run.size());
        const CollectiveKind kind = CollectiveKind::all_to_all;
        visit_(there, &kind, run, false);
    }

    // Trailing axes of one or several dimensions are gathered together. What the target has at the same place stays: gathering
    // it too would only make every other step larger.
    void gathers() const {
        std::array<std::size_t, Sharding::most_dims> drop{};
        while (true) {
            std::size_t d = 0;
            while (d < here_.rank && drop[d] == most_dropped(d)) drop[d++] = 0;
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

    [[nodiscard]] std::size_t most_dropped(std::size_t d) const {
        std::size_t common = 0;
        const AxisList have = here_.dims[d];
        const AxisList goal = target_.dims[d];
        while (common < have.size() && common < goal.size() && have[common] == goal[common]) ++common;
        return have.size() - common;
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

    // A dimension's axes change their order: chips swap what they hold.
    void permutes(std::size_t d) const {
        const AxisList have = here_.dims[d];
        constexpr std::size_t most = 4;
        if (have.size() < 2 || have.size() > most) return;
        std::array<std::size_t, most> order{};
        for (std::size_t i = 0; i < have.size(); ++i) order[i] = have[i];
        const auto end = order.begin() + static_cast<std::ptrdiff_t>(have.size());
        std::sort(order.begin(), end);
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
    const Visit& visit_;
};

}  // namespace

std::size_t ReshardSearch::cheapest() const {
    std::size_t best = nodes_.size();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!nodes_[i].done && (best == nodes_.size() || nodes_[i].price < nodes_[best].price)) best = i;
    }
    return best;
}

void ReshardSearch::reach(std::size_t here, const Sharding& there, const LayoutPrice& price, const Move* move) {
    const std::uint64_t hash = there.hash();
    for (std::size_t i = 0; i < hashes_.size(); ++i) {
        if (hashes_[i] != hash || nodes_[i].sharding != there) continue;
        if (nodes_[i].done || !(price < nodes_[i].price)) return;
        nodes_[i] = {there, price, here, move != nullptr, false, move != nullptr ? *move : Move{}};
        return;
    }
    hashes_.push_back(hash);
    nodes_.push_back({there, price, here, move != nullptr, false, move != nullptr ? *move : Move{}});
}

Status ReshardSearch::expand(const Moved& moved, std::size_t here, const Sharding& to) {
    const Sharding from = nodes_[here].sharding;
    const LayoutPrice price = nodes_[here].price;
    Status problem;
    const auto visit = [&](const Sharding& there, const CollectiveKind* kind, AxisList axes, bool gathered) {
        --steps_left_;
        if (kind == nullptr) return reach(here, there, price, nullptr);
        if (auto status = costs_.loaded(*kind, axes.mask()); !status) {
            problem = status;
            return;
        }
        // What is gathered; what each member holds before a sum; all that a group redistributes.
        const bool all = *kind == CollectiveKind::all_to_all || *kind == CollectiveKind::permute;
        Move move{*kind, axes, moved.element_bytes, gathered ? there : from,
                  all ? chips_across(costs_.system(), axes) : 1};
        move.bytes *= static_cast<double>(move.times);
        for (std::size_t d = 0; d < moved.sizes.size(); ++d) {
            const AxisList split = move.held.dims[d];
            move.bytes *= split.empty()
                              ? moved.sizes[d]
                              : std::ceil(moved.sizes[d] / static_cast<double>(chips_across(costs_.system(), split)));
        }
        LayoutPrice next = price;
        next += costs_.price(*kind, axes.mask(), move.bytes);
        reach(here, there, next, &move);
    };
    Steps(from, to, visit).all();
    return problem;
}

Result<Resharding> ReshardSearch::run(const Moved& moved, const Sharding& from, const Sharding& to) {
    if (from == to) return Resharding{};
    if ((to.unreduced & ~from.unreduced) != 0) {
        const AxisList sums = listed(static_cast<AxisMask>(to.unreduced & ~from.unreduced));
        return fail("illegal_resharding",
                    fmt::format("`{}` is whole, and cannot become a partial sum over {}", moved.tensor,
                                fmt::join(axis_names(costs_.system(), sums), "")),
                    "leave {U_...} out of the result");
    }
    nodes_.assign(1, Node{from, {}, 0, false, false, {}});
    hashes_.assign(1, from.hash());
    while (true) {
        const std::size_t here = cheapest();
        if (here == nodes_.size())
            return fail("no_way",
                        fmt::format("no collective leads to the layout that is wanted of `{}`", moved.tensor));
        if (nodes_[here].sharding == to) {
            Resharding way{{}, nodes_[here].price};
            for (std::size_t i = here; i != 0; i = nodes_[i].before) {
                if (nodes_[i].moves) way.moves.push_back(nodes_[i].move);
            }
            std::reverse(way.moves.begin(), way.moves.end());
            return way;
        }
        nodes_[here].done = true;
        if (auto status = expand(moved, here, to); !status) return fail(status.error());
        if (steps_left_ <= 0) {
            return fail("too_many_ways",
                        fmt::format("there are too many ways to move `{}` over the mesh", moved.tensor),
                        "use fewer mesh axes in one statement, or go by a step in between");
        }
    }
}

}  // namespace roofline
