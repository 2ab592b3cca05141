#include "layout/reshard_front.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace roofline::core {

namespace {

/// Every legal move from a sharding over some mesh axes. Calls `visit(there, kind or nullptr, axes, gathered)` as for
/// the moves towards one target (reshard.cpp).
template <class Visit>
class LegalMoves {
public:
    LegalMoves(const Sharding& here, AxisMask axes, AxisMask open, const Visit& visit)
        : here_(here), idle_(static_cast<AxisMask>(axes & ~here.used())), open_(open), visit_(visit) {}

    void all() const {
        for (std::size_t d = 0; d < here_.rank; ++d) {
            slices(d);
            scatters(d);
            exchanges(d);
            permutes(d);
        }
        gathers();
        sums();
    }

private:
    // One axis at a time; several slices follow one another.
    void slices(std::size_t d) const {
        const AxisList idle = listed(idle_);
        for (std::size_t i = 0; i < idle.size(); ++i) {
            Sharding there = here_;
            there.dims[d].push_back(idle[i]);
            visit_(there, nullptr, AxisList{}, false);
        }
    }

    void scatters(std::size_t d) const {
        for (AxisMask set = open_; set != 0; set = static_cast<AxisMask>((set - 1) & open_)) {
            for (const AxisList run : orders_of(set)) {
                Sharding there = here_;
                there.dims[d].append(run);
                there.unreduced = static_cast<AxisMask>(there.unreduced & ~set);
                const CollectiveKind kind = CollectiveKind::reduce_scatter;
                visit_(there, &kind, run, false);
            }
        }
    }

    void exchanges(std::size_t d) const {
        const AxisList have = here_.dims[d];
        for (std::size_t kept = 0; kept < have.size(); ++kept) {
            for (std::size_t other = 0; other < here_.rank; ++other) {
                if (other == d) continue;
                Sharding there = here_;
                there.dims[d] = have.first(kept);
                there.dims[other].append(have.from(kept));
                const CollectiveKind kind = CollectiveKind::all_to_all;
                visit_(there, &kind, have.from(kept), false);
            }
        }
    }

    void permutes(std::size_t d) const {
        const AxisList have = here_.dims[d];
        for (const AxisList other : orders_of(have.mask())) {
            if (other == have) continue;
            Sharding there = here_;
            there.dims[d] = other;
            const CollectiveKind kind = CollectiveKind::permute;
            visit_(there, &kind, have, false);
        }
    }

    // Trailing axes of one or several dimensions are gathered together.
    void gathers() const {
        std::array<std::size_t, Sharding::max_dims> drop{};
        while (true) {
            std::size_t d = 0;
            while (d < here_.rank && drop[d] == here_.dims[d].size()) drop[d++] = 0;
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

    void sums() const {
        for (AxisMask set = open_; set != 0; set = static_cast<AxisMask>((set - 1) & open_)) {
            Sharding there = here_;
            there.unreduced = static_cast<AxisMask>(there.unreduced & ~set);
            const CollectiveKind kind = CollectiveKind::all_reduce;
            visit_(there, &kind, listed(set), false);
        }
    }

    const Sharding& here_;
    AxisMask idle_;
    AxisMask open_;  ///< partial sums that must be completed
    const Visit& visit_;
};

}  // namespace

std::size_t ReshardFront::place_of(const Sharding& sharding) {
    const std::uint64_t hash = sharding.hash();
    const auto [first, end] = places_.equal_range(hash);
    const auto found = std::find_if(first, end, [&](const auto& each) { return shardings_[each.second] == sharding; });
    if (found != end) return found->second;
    places_.emplace(hash, shardings_.size());
    shardings_.push_back(sharding);
    labels_of_.emplace_back();
    return shardings_.size() - 1;
}

std::span<const double> ReshardFront::row(std::size_t label) const {
    return std::span(costs_of_).subspan(label * costs_.width(), costs_.width());
}

bool ReshardFront::later(std::size_t a, std::size_t b) const {
    return std::pair(labels_[a].sequential_s, a) > std::pair(labels_[b].sequential_s, b);
}

void ReshardFront::reach(std::size_t before, const Sharding& there, std::span<const double> cost, const Move* move) {
    const LayoutPrice price = costs_.price(cost);
    if (price.lower_s > most_) {
        left_out_ = true;
        return;
    }
    const auto beats = [&](std::size_t other) { return costs_.no_worse(row(other), cost); };
    if (std::any_of(labels_of_.front().begin(), labels_of_.front().end(), beats)) return;
    const std::size_t place = place_of(there);
    std::vector<std::size_t>& labels = labels_of_[place];
    if (std::any_of(labels.begin(), labels.end(), beats)) return;
    std::erase_if(labels, [&](std::size_t other) {
        if (!costs_.no_worse(cost, row(other))) return false;
        labels_[other].dominated = true;
        return true;
    });
    if (labels.size() >= max_labels) return;
    labels.push_back(labels_.size());
    labels_.push_back({place, before, move != nullptr, false, move != nullptr ? *move : Move{}, price.upper_s});
    costs_of_.insert(costs_of_.end(), cost.begin(), cost.end());
    open_.push_back(labels_.size() - 1);
    std::push_heap(open_.begin(), open_.end(), [&](std::size_t a, std::size_t b) { return later(a, b); });
}

Status ReshardFront::expand(const Moved& moved, std::size_t label) {
    const Sharding from = shardings_[labels_[label].lies];
    const std::vector<double> cost(row(label).begin(), row(label).end());
    std::vector<double> next;
    Status problem;
    const auto visit = [&](const Sharding& there, const CollectiveKind* kind, AxisList axes, bool gathered) {
        if (kind == nullptr) return reach(label, there, cost, nullptr);
        const Move move = move_of(costs_.system(), moved, from, there, *kind, axes, gathered);
        if (auto status = costs_.loaded(move.route()); !status) {
            problem = status;
            return;
        }
        next = cost;
        costs_.add_next(next, move.route(), move.bytes);
        reach(label, there, next, &move);
    };
    const AxisMask open = from.unreduced & static_cast<AxisMask>(~shardings_.front().unreduced);
    LegalMoves(from, axes_, open, visit).all();
    return problem;
}

Resharding ReshardFront::traced(std::size_t label) const {
    std::vector<std::size_t> chain;
    for (std::size_t i = label; i != 0; i = labels_[i].before) chain.push_back(i);
    std::reverse(chain.begin(), chain.end());
    Resharding path;
    for (const std::size_t each : chain) {
        path.actions.push_back({shardings_[labels_[each].lies], std::nullopt});
        if (!labels_[each].moves) continue;
        path.actions.back().move = path.moves.size();
        path.moves.push_back(labels_[each].move);
        path.price += costs_.price(labels_[each].move.route(), labels_[each].move.bytes);
    }
    return path;
}

Result<std::vector<Resharding>> ReshardFront::run(const Moved& moved, const Sharding& from, const Sharding& to,
                                                  double most) {
    most_ = most * (1 + 1e-12);
    left_out_ = false;
    shardings_.clear();
    places_.clear();
    labels_of_.clear();
    labels_.clear();
    costs_of_.clear();
    open_.clear();
    (void)place_of(to);
    reach(0, from, std::vector<double>(costs_.width(), 0.0), nullptr);
    for (expanded_ = 0; !open_.empty() && expanded_ < max_expanded; ++expanded_) {
        std::pop_heap(open_.begin(), open_.end(), [&](std::size_t a, std::size_t b) { return later(a, b); });
        const std::size_t label = open_.back();
        open_.pop_back();
        if (labels_[label].dominated || labels_[label].lies == 0) continue;
        const auto beats = [&](std::size_t goal) { return costs_.no_worse(row(goal), row(label)); };
        if (std::any_of(labels_of_.front().begin(), labels_of_.front().end(), beats)) continue;
        ROOFLINE_CHECK(expand(moved, label));
    }
    if (labels_of_.front().empty() && !left_out_) {
        return fail("no_way",
                    fmt::format("no sequence of collectives gives `{}` the layout that is wanted", moved.tensor));
    }
    std::vector<Resharding> paths;
    for (const std::size_t label : labels_of_.front()) paths.push_back(traced(label));
    return paths;
}

}  // namespace roofline::core
