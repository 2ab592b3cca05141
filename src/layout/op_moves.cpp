// The tensors that a strategy moves: what has to move, by which reshardings, and at what cost.
#include "layout/op_moves.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofline::core {

bool converts_first(const Rational& from, const Rational& to, const OpStrategies::Question& asked) {
    const Sharding& held = asked.held.front();
    return to < from && held.unreduced == 0 && !held.at_chip() && !(asked.wanted && asked.wanted->at_chip());
}

bool OpStrategies::dominated(const Query& query, const Strategy& strategy) const {
    if (query.asked.all) return false;
    const auto known = query.nondominated.find(strategy.output.hash());
    if (known == query.nondominated.end()) return false;
    if (query.asked.limit != nullptr)
        *query.asked.limit->evaluations -= static_cast<std::int64_t>(known->second.size() / 64);
    return std::any_of(known->second.begin(), known->second.end(), [&](std::size_t i) {
        const Strategy& other = query.found[i];
        return costs_->no_worse(other.cost, strategy.cost) && other.output == strategy.output;
    });
}

bool OpStrategies::stays(std::size_t tensor, const Sharding& from, const Sharding& to) const {
    if (stays_.empty() || stays_[tensor] == 0) return true;
    for (std::size_t d = 0; d < from.rank; ++d) {
        if (((from.dims[d].mask() ^ to.dims[d].mask()) & stays_[tensor]) != 0) return false;
    }
    return true;
}

// The tensors that have to move. There is no answer if one of them must stay, or if another strategy does the same.
std::optional<std::vector<OpStrategies::Leg>> OpStrategies::legs(const Query& query, const Plan& plan,
                                                                 const Sharding& output) const {
    const std::span<const Sharding> held = query.asked.held;
    std::vector<Leg> legs;
    legs.reserve(held.size() + static_cast<std::size_t>(rounds_) + 1);
    Sharding made = this->made(plan);
    for (std::size_t i = 0; i < held.size(); ++i) {
        // A move takes the operand all the way, unless it must be loaded first.
        const bool moves = op_->kind == OpKind::move &&
                           (tensors_[i].in_host ||
                            !converts_first(tensors_[i].element_bytes, tensors_.back().element_bytes, query.asked));
        Sharding to = moves && !tensors_[i].in_host ? output : sharding(i, plan);
        if (moves && tensors_[i].in_host) to.unreduced = held[i].unreduced;
        // Loading everywhere what only one chip wants is the same strategy as loading it on that chip.
        if (moves && output.at_chip() && to.used() == 0 && !to.at_chip()) return std::nullopt;
        if (moves) made = to;
        legs.push_back({i, held[i], to, halo_of_tensor(i, plan)});
    }
    for (int round = 0; round < rounds_; ++round) {
        const Sharding part = part_statistics(plan);
        Sharding whole = part;
        whole.unreduced = 0;
        legs.push_back({held.size() + 1, part, whole, std::nullopt});
    }
    legs.push_back({held.size(), made, output, halo_of_tensor(held.size(), plan)});
    std::erase_if(legs, [](const Leg& leg) { return leg.from == leg.to && !leg.halo; });
    const bool stay = std::all_of(legs.begin(), legs.end(), [&](const Leg& leg) {
        return leg.tensor >= tensors_.size() || stays(leg.tensor, leg.from, leg.to);
    });
    if (!stay) return std::nullopt;
    return legs;
}

Status OpStrategies::add_strategy(Query& query, const Plan& plan, const Sharding& output,
                                  std::span<const double> share) {
    Strategy strategy;
    strategy.at = plan.at;
    strategy.halo = plan.halo;
    strategy.open = plan.open;
    strategy.output = output;
    strategy.cost.assign(share.begin(), share.end());
    if (dominated(query, strategy)) return {};
    const auto legs = this->legs(query, plan, output);
    return legs ? go(query, plan, *legs, std::move(strategy)) : Status{};
}

// Takes every resharding of the first leg, and goes on with the others.
Status OpStrategies::go(Query& query, const Plan& plan, std::span<const Leg> legs, Strategy strategy) {
    if (query.asked.limit != nullptr && --*query.asked.limit->evaluations < 0) return {};
    if (legs.empty()) {
        strategy.price = costs_->price(strategy.cost);
        if (query.asked.limit != nullptr && query.asked.limit->alone)
            query.least = std::min(query.least, strategy.price);
        strategy.split.assign(plan.split.begin(), plan.split.end());
        std::vector<std::size_t>& equivalent = query.nondominated[strategy.output.hash()];
        std::erase_if(equivalent, [&](std::size_t i) { return costs_->no_worse(strategy.cost, query.found[i].cost); });
        equivalent.push_back(query.found.size());
        query.found.push_back(std::move(strategy));
        return {};
    }
    if (query.asked.limit == nullptr || legs.front().halo || moved(legs.front().tensor).in_host) {
        ROOFLINE_TRY(const std::size_t place, resharding(legs.front()));
        return take(query, plan, legs, place, std::move(strategy));
    }
    ROOFLINE_TRY(const auto places, reshardings(legs.front(), query));
    if (places.empty()) return {};
    for (const std::size_t place : std::span(places).first(places.size() - 1)) {
        ROOFLINE_CHECK(take(query, plan, legs, place, strategy));
    }
    return take(query, plan, legs, places.back(), std::move(strategy));
}

// Takes this resharding of the first leg, and goes on with the others.
Status OpStrategies::take(Query& query, const Plan& plan, std::span<const Leg> legs, std::size_t place,
                          Strategy strategy) {
    const std::size_t tensor = legs.front().tensor;
    const Resharding& resharding = (*reshardings_)[place];
    if (!resharding.moves.empty()) strategy.moves.push_back({tensor, place});
    leg_cost_.assign(strategy.cost.size(), 0.0);
    for (std::size_t i = 0; i < resharding.moves.size(); ++i) {
        const Move& move = resharding.moves[i];
        if (i == 0) {  // nothing to wait for
            costs_->add_collective(leg_cost_, move.route(), move.bytes);
        } else {
            costs_->add_next(leg_cost_, move.route(), move.bytes);
        }
    }
    costs_->add(strategy.cost, leg_cost_, 1);
    const std::vector<bool>& free = query.asked.free;
    if (tensor < free.size() && free[tensor]) costs_->note_operand(strategy.cost, leg_cost_);
    if (tensor + 1 == tensors_.size()) costs_->note_result(strategy.cost, leg_cost_);
    if (too_expensive(query, strategy.cost) || dominated(query, strategy)) return {};
    return go(query, plan, legs.subspan(1), std::move(strategy));
}

Result<std::size_t> OpStrategies::resharding(const Leg& leg) {
    const MovedTensor& moved = this->moved(leg.tensor);
    ROOFLINE_TRY(const std::size_t place, reshardings_->find(moved.shape, moved.name, leg.from, leg.to, leg.halo));
    if (moved.in_host && leg.tensor + 1 < tensors_.size() && !(*reshardings_)[place].moves.empty()) {
        return fail("host_collective",
                    fmt::format("`{}` is in host memory, and collectives work in device memory", moved.name),
                    "load it first with a separate statement: L : bf16[...] = ...");
    }
    return place;
}

// The reshardings of a leg that may be part of the best layout under a limit.
Result<std::vector<std::size_t>> OpStrategies::reshardings(const Leg& leg, const Query& query) {
    const MovedTensor& moved = this->moved(leg.tensor);
    const SearchLimit& limit = *query.asked.limit;
    return reshardings_->front(moved.shape, moved.name, leg.from, leg.to, limit.axes, query.least.lower_s,
                               *limit.evaluations);
}

}  // namespace roofline::core
