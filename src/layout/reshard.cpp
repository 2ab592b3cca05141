#include "layout/reshard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "layout/reshard_front.hpp"
#include "layout/target_moves.hpp"

namespace roofline::core {

namespace {

// The first dimension in which two shardings differ; or else the rank.
std::size_t differing_dim(const Sharding& from, const Sharding& there) {
    std::size_t d = 0;
    while (d < from.rank && from.dims[d] == there.dims[d]) ++d;
    return d;
}

// The number of elements that a chip has of a dimension.
double part_of(const System& system, const Moved& moved, std::size_t dim, AxisList split) {
    return split.empty() ? moved.sizes[dim]
                         : std::ceil(moved.sizes[dim] / static_cast<double>(chips_across(system, split)));
}

// V of a collective: the number of local parts times their bytes.
double bytes_of(const System& system, const Moved& moved, const Move& move) {
    double bytes = moved.element_bytes * static_cast<double>(move.times);
    for (std::size_t d = 0; d < moved.sizes.size(); ++d) bytes *= part_of(system, moved, d, move.held.dims[d]);
    return bytes;
}

/// The same for many collectives that start from one sharding.
class BytesFrom {
public:
    BytesFrom(const System& system, const Moved& moved, const Sharding& from)
        : system_(system), moved_(moved), from_(from) {
        for (std::size_t d = 0; d < moved.sizes.size(); ++d) parts_[d] = part_of(system, moved, d, from.dims[d]);
    }

    [[nodiscard]] double of(const Sharding& held, std::int64_t times) const {
        double bytes = moved_.element_bytes * static_cast<double>(times);
        for (std::size_t d = 0; d < moved_.sizes.size(); ++d) {
            bytes *= held.dims[d] == from_.dims[d] ? parts_[d] : part_of(system_, moved_, d, held.dims[d]);
        }
        return bytes;
    }

private:
    const System& system_;
    const Moved& moved_;
    const Sharding& from_;
    std::array<double, Sharding::max_dims> parts_{};
};

// A collective without its bytes.
Move unpriced_move(const System& system, const Sharding& from, const Sharding& there, CollectiveKind kind,
                   AxisList axes, bool gathered) {
    Move move{kind, axes, 0, gathered ? there : from, info(kind).size_of_member() ? chips_across(system, axes) : 1};
    if (info(kind).ends == Ends::pairs) move.after = there.dims[differing_dim(from, there)];
    return move;
}

}  // namespace

Move move_of(const System& system, const Moved& moved, const Sharding& from, const Sharding& there, CollectiveKind kind,
             AxisList axes, bool gathered) {
    Move move = unpriced_move(system, from, there, kind, axes, gathered);
    move.bytes = bytes_of(system, moved, move);
    return move;
}

void ReshardSearch::start(const Sharding& from, const Sharding& to) {
    to_ = to;
    goal_.reset();
    nodes_.clear();
    open_.clear();
    first_.fill(no_node);
    (void)reach(0, from, no_node, {}, false);
}

namespace {

// Of several nodes with the same price the first one is taken.
constexpr auto later = [](const auto& a, const auto& b) {
    const auto compared = a.price <=> b.price;
    return compared != 0 ? compared > 0 : a.node > b.node;
};

}  // namespace

std::size_t ReshardSearch::cheapest() {
    while (!open_.empty()) {
        std::pop_heap(open_.begin(), open_.end(), later);
        const std::size_t node = open_.back().node;
        open_.pop_back();
        if (!nodes_[node].done) return node;
    }
    return nodes_.size();
}

std::size_t ReshardSearch::node_of(const Sharding& sharding) const {
    std::size_t node = first_[place_of(sharding)];
    while (node != no_node && nodes_[node].sharding != sharding) node = nodes_[node].next;
    return node;
}

ReshardSearch::Node* ReshardSearch::reach(std::size_t here, const Sharding& there, std::size_t node, LayoutPrice price,
                                          bool moves) {
    if (goal_ && !(price < nodes_[*goal_].price)) return nullptr;
    if (node == no_node) {
        std::size_t& first = first_[place_of(there)];
        node = nodes_.size();
        if (there == to_) goal_ = node;
        nodes_.push_back({there, price, here, moves, false, {}, first});
        first = node;
    } else {
        Node& known = nodes_[node];
        if (known.done || !(price < known.price)) return nullptr;
        known.price = price;
        known.before = here;
        known.moves = moves;
    }
    open_.push_back({price, node});
    std::push_heap(open_.begin(), open_.end(), later);
    return &nodes_[node];
}

// The move from one chip to where the array is wanted, or from its sharding to the one chip that wants it. An array
// that is wanted as partial sums over all chips stays on its chip, beside zeros; if only over some axes, it goes to the
// others first.
Status ReshardSearch::expand_rooted(const Moved& moved, std::size_t here, const Sharding& goal) {
    const Sharding from = nodes_[here].sharding;
    Sharding to = goal;
    to.unreduced = 0;
    bool all = from.at_chip() && goal.unreduced != 0 && to.used() == 0;
    for (std::size_t axis = 0; axis < costs_.system().mesh.size(); ++axis) {
        all = all && (costs_.system().mesh[axis].size == 1 || (unsigned{goal.unreduced} >> axis & 1U) != 0);
    }
    if (all) {
        (void)reach(here, goal, node_of(goal), nodes_[here].price, false);
        return {};
    }
    const Sharding& split = from.at_chip() ? to : from;
    --expansions_left_;
    if (!from.at_chip() && split.used() == 0) {  // it is already there
        (void)reach(here, to, node_of(to), nodes_[here].price, false);
        return {};
    }
    Move move;
    move.held.rank = from.rank;
    move.from = from.at;
    move.to = to.at;
    for (std::size_t d = 0; d < split.rank; ++d) move.axes.append(split.dims[d]);
    move.kind = from.at_chip() && to.at_chip() ? CollectiveKind::send
                : to.at_chip()                 ? CollectiveKind::gather
                : split.used() == 0            ? CollectiveKind::broadcast
                                               : CollectiveKind::scatter;
    move.bytes = bytes_of(costs_.system(), moved, move);
    ROOFLINE_TRY(LayoutPrice next, costs_.loaded_price(move.route(), move.bytes));
    next += nodes_[here].price;
    if (Node* const node = reach(here, to, node_of(to), next, true)) node->move = move;
    return {};
}

Status ReshardSearch::expand(const Moved& moved, std::size_t here, const Sharding& to) {
    const Sharding from = nodes_[here].sharding;
    const LayoutPrice price = nodes_[here].price;
    const BytesFrom bytes(costs_.system(), moved, from);
    Status problem;
    const auto visit = [&](const Sharding& there, const CollectiveKind* kind, AxisList axes, bool gathered) {
        --expansions_left_;
        const std::size_t known = node_of(there);
        if (known != no_node && nodes_[known].done) return;
        if (kind == nullptr) {
            (void)reach(here, there, known, price, false);
            return;
        }
        Move move = unpriced_move(costs_.system(), from, there, *kind, axes, gathered);
        move.bytes = bytes.of(move.held, move.times);
        auto next = costs_.loaded_price(move.route(), move.bytes);
        if (!next) {
            problem = fail(next.error());
            return;
        }
        *next += price;
        if (Node* const node = reach(here, there, known, *next, true)) node->move = move;
    };
    std::size_t largest_dim = 0;
    double most = 0;
    for (std::size_t d = 0; d < moved.sizes.size(); ++d) {
        const double size = moved.sizes[d] / static_cast<double>(chips_across(costs_.system(), from.dims[d]));
        if (size > most) largest_dim = d;
        most = std::max(most, size);
    }
    std::size_t permuted_dim = Sharding::max_dims;
    const Node& last = nodes_[here];
    if (last.moves && !last.move.after.empty()) permuted_dim = differing_dim(nodes_[last.before].sharding, from);
    TargetMoves(from, to, largest_dim, permuted_dim, visit).all();
    return problem;
}

Resharding ReshardSearch::traced(std::size_t goal) const {
    std::vector<std::size_t> chain;
    for (std::size_t i = goal; i != 0; i = nodes_[i].before) chain.push_back(i);
    std::reverse(chain.begin(), chain.end());
    Resharding path;
    path.price = nodes_[goal].price;
    for (const std::size_t node : chain) {
        path.actions.push_back({nodes_[node].sharding, std::nullopt});
        if (!nodes_[node].moves) continue;
        path.actions.back().move = path.moves.size();
        path.moves.push_back(nodes_[node].move);
    }
    return path;
}

Result<Resharding> ReshardSearch::run(const Moved& moved, const Sharding& from, const Sharding& to) {
    if (from == to) return Resharding{};
    start(from, to);
    while (true) {
        const std::size_t here = cheapest();
        if (here == nodes_.size())
            return fail("no_way",
                        fmt::format("no sequence of collectives gives `{}` the layout that is wanted", moved.tensor));
        if (goal_ == here) {
            return traced(here);
        }
        nodes_[here].done = true;
        const Sharding& lies = nodes_[here].sharding;
        if (lies.at_chip() || (to.at_chip() && lies.unreduced == 0)) {
            ROOFLINE_CHECK(expand_rooted(moved, here, to));
        } else
            ROOFLINE_CHECK(expand(moved, here, to));
        if (expansions_left_ <= 0) {
            return fail("too_many_ways",
                        fmt::format("there are too many ways to reshard `{}` over the mesh", moved.tensor),
                        "use fewer mesh axes in one statement, or write an intermediate layout");
        }
    }
}

Result<Resharding> ReshardSearch::run(const Moved& moved, const Sharding& from, const Sharding& to,
                                      const TensorHalo& halo) {
    Sharding near = halo.result ? from : to;
    near.dims[halo.dim] = halo.axes;
    near.unreduced = static_cast<AxisMask>(near.unreduced & ~halo.axes.mask());
    const std::int64_t chips = chips_across(costs_.system(), halo.axes);
    const double share = std::ceil(moved.sizes[halo.dim] / static_cast<double>(chips));
    Move move{CollectiveKind::permute, halo.axes, 0, near, chips};
    move.halo_dim = halo.dim;
    move.back = halo.result;
    move.hops = static_cast<std::int64_t>(std::ceil(halo.places / share));
    ROOFLINE_CHECK(costs_.loaded(move.route()));
    move.bytes = moved.element_bytes * static_cast<double>(chips) * halo.places;
    for (std::size_t d = 0; d < moved.sizes.size(); ++d) {
        if (d == halo.dim) continue;
        move.bytes *= std::ceil(moved.sizes[d] / static_cast<double>(chips_across(costs_.system(), near.dims[d])));
    }
    auto path = halo.result ? run(moved, near, to) : run(moved, from, near);
    if (path) {
        const std::size_t place = halo.result ? 0 : path->moves.size();
        for (ReshardAction& action : path->actions) {
            if (halo.result && action.move) ++*action.move;
        }
        path->moves.insert(halo.result ? path->moves.begin() : path->moves.end(), move);
        path->actions.insert(halo.result ? path->actions.begin() : path->actions.end(), {near, place});
        path->price += costs_.price(move.route(), move.bytes);
    }
    if (!halo.result && to.dims[halo.dim] == halo.axes) return path;
    auto whole = run(moved, from, to);
    return !path || (whole && whole->price < path->price) ? whole : path;
}

std::size_t Reshardings::shape(const std::vector<std::string>& dims, double element_bytes) {
    const auto known = std::find_if(shapes_.begin(), shapes_.end(), [&](const Shape& shape) {
        return shape.dims == dims && shape.element_bytes == element_bytes;
    });
    const auto place = static_cast<std::size_t>(known - shapes_.begin());
    if (known == shapes_.end()) shapes_.push_back({dims, element_bytes, {}});
    return place;
}

void Reshardings::set_sizes(const Sizes& sizes) {
    for (Shape& shape : shapes_) {
        shape.sizes.clear();
        for (const std::string& dim : shape.dims) shape.sizes.push_back(static_cast<double>(sizes.at(dim)));
    }
    places_.clear();
    fronts_.clear();
    reshardings_.clear();
}

Result<std::vector<std::size_t>> Reshardings::front(std::size_t shape, std::string_view tensor, const Sharding& from,
                                                    const Sharding& to, AxisMask axes, double most,
                                                    std::int64_t& evaluations) {
    const bool rooted = from.at_chip() || to.at_chip();
    if (rooted || from == to || (to.unreduced & ~from.unreduced) != 0) {
        ROOFLINE_TRY(auto place, find(shape, tensor, from, to));
        return std::vector<std::size_t>{place};
    }
    const auto [known, added] = fronts_.try_emplace({shape, from, to, std::nullopt});
    if (!added) return known->second;
    const Shape& of = shapes_[shape];
    ReshardFront search(costs_, axes);
    auto paths = search.run({tensor, of.element_bytes, of.sizes}, from, to, most);
    evaluations -= ReshardFront::evaluations_per_label * static_cast<std::int64_t>(search.expanded());
    if (!paths) {
        fronts_.erase(known);
        return fail(paths.error());
    }
    for (Resharding& path : *paths) {
        known->second.push_back(reshardings_.size());
        reshardings_.push_back(std::move(path));
    }
    return known->second;
}

Result<std::size_t> Reshardings::find(std::size_t shape, std::string_view tensor, const Sharding& from,
                                      const Sharding& to, const std::optional<TensorHalo>& halo) {
    const auto [known, added] = places_.try_emplace({shape, from, to, halo}, reshardings_.size());
    if (!added) return known->second;
    const Moved moved{tensor, shapes_[shape].element_bytes, shapes_[shape].sizes};
    auto path = halo ? search_.run(moved, from, to, *halo) : search_.run(moved, from, to);
    if (!path) {
        places_.erase(known);
        return fail(path.error());
    }
    reshardings_.push_back(std::move(*path));
    return reshardings_.size() - 1;
}

}  // namespace roofline::core
