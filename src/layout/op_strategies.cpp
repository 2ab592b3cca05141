#include "layout/op_strategies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "layout/op_moves.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_splits = 4096;

void add_choice(std::vector<AxisList>& choices, AxisList axes) {
    if (std::find(choices.begin(), choices.end(), axes) == choices.end()) choices.push_back(axes);
}

bool has_place(const std::vector<std::size_t>& places, std::size_t place) {
    return std::find(places.begin(), places.end(), place) != places.end();
}

}  // namespace

std::vector<std::string> OpStrategies::moved_dims(std::size_t tensor) const {
    std::vector<std::string> names;
    for (const std::size_t place : moved(tensor).dims) names.push_back(dims_[place]);
    return names;
}

// Rows that are looked up or written stay on their chips if there are as many of them as places, because they are
// assumed to be in order then.
bool OpStrategies::in_order(std::size_t dim, AxisList axes, const std::vector<AxisList>& split) const {
    return rows_.size() == 1 && rows_.front() == dim && !axes.empty() && split[along_] == axes &&
           sizes_[along_] == sizes_[dim];
}

// Sets the split of a tied dimension.
void OpStrategies::settle(std::vector<AxisList>& split) const {
    if (!tied_) return;
    AxisList& axes = split[tied_->dim];
    axes = {};
    for (const std::size_t dim : tied_->from) axes.append(split[dim]);
}

void OpStrategies::set_sizes(const Sizes& sizes) {
    sizes_.clear();
    for (const std::string& dim : symbols_) sizes_.push_back(static_cast<double>(sizes.at(dim)));
    shares_ = sizes_;
    for (Looks& looks : looks_) {
        looks.count = looks.halo.size().evaluate(sizes).value_or(Rational(0)).to_double();
    }
    bands_.clear();
    if (unmasked_.slots.empty()) return;
    whole_.times.evaluate(sizes_, seconds_);
    bands_.assign(seconds_.begin(), seconds_.end());
    unmasked_.times.evaluate(sizes_, seconds_);
    for (std::size_t i = 0; i < bands_.size(); ++i) bands_[i] = seconds_[i] > 0 ? bands_[i] / seconds_[i] : 1;
}

Result<std::vector<Strategy>> OpStrategies::strategies(const Question& question) {
    reshardings_->refill();
    Query query{question, {}, {}, {}, {}, {}, {}, {}, {}};
    if (question.limit != nullptr) query.least = question.limit->least;
    offer_choices(query);
    query.split.resize(dims_.size());
    for (const std::int64_t place : places(question)) {
        if (place == Sharding::everywhere) {
            combine_choices(query, 0, 0);
        } else {
            query.splits.resize(query.splits.size() + dims_.size());
        }
        query.places.resize(dims_.empty() ? query.places.size() + 1 : query.splits.size() / dims_.size(), place);
    }
    // Starting with the least work makes most other strategies dominated before all their collectives are computed.
    const std::size_t count = query.places.size();
    const std::size_t width = costs_->width();
    std::vector<double> shares(count * width, 0.0);
    std::vector<std::pair<LayoutPrice, std::size_t>> order;
    const auto split = [&](std::size_t i) { return std::span(query.splits).subspan(i * dims_.size(), dims_.size()); };
    const auto share = [&](std::size_t i) { return std::span(shares).subspan(i * width, width); };
    const auto planned = [&](std::size_t i) { return Plan{split(i), query.places[i], {}, halo_of(split(i))}; };
    for (std::size_t i = 0; i < count; ++i) {
        share_cost(planned(i), share(i));
        if (!too_expensive(query, share(i))) order.emplace_back(costs_->price(share(i)), i);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [price, i] : order) {
        Plan plan = planned(i);
        for (const Open& open : opens(question, split(i))) {
            plan.open = open;
            for (const Sharding& output : outputs(query, plan)) {
                if (auto status = add_strategy(query, plan, output, share(i)); !status) query.problem = status.error();
            }
        }
    }
    if (query.found.empty()) {
        if (question.limit != nullptr) return std::vector<Strategy>{};
        if (query.problem) return fail(*query.problem);
        return fail("no_layout", "no way to split this operation over the mesh");
    }
    std::vector<std::size_t> best(query.found.size());
    std::iota(best.begin(), best.end(), std::size_t{0});
    std::sort(best.begin(), best.end(), [&](std::size_t a, std::size_t b) {
        const auto compared = query.found[a].price <=> query.found[b].price;
        return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<Strategy> sorted;
    sorted.reserve(best.size());
    for (const std::size_t place : best) sorted.push_back(std::move(query.found[place]));
    return sorted;
}

// Which partial sums of operands stay unreduced. If whole operands are added to them, these count as partial sums as
// well, provided that the result is to be unreduced: one chip adds them, and the others add zeros. A contraction of
// partial sums stays unreduced only then.
std::vector<Open> OpStrategies::opens(const Question& question, std::span<const AxisList> split) const {
    AxisMask free = 0xFF;
    for (const AxisList axes : split) free = static_cast<AxisMask>(free & ~axes.mask());
    // Otherwise a sum is completed once for all its uses.
    const AxisMask open = adds_ && question.open ? AxisMask{0xFF} : question.keep;
    const AxisMask asked = question.wanted ? question.wanted->unreduced : open;
    std::vector<Open> opens;
    const auto offer = [&](AxisMask axes, std::uint32_t operands) {
        const Open open = axes == 0 ? Open{} : Open{axes, operands};
        if (std::find(opens.begin(), opens.end(), open) == opens.end()) opens.push_back(open);
    };
    for (const std::uint32_t operands : linear_in_) {
        AxisMask all = free;
        AxisMask any = 0;
        for (std::size_t i = 0; i < question.held.size(); ++i) {
            if (!Open{0, operands}.has(i)) continue;
            all = static_cast<AxisMask>(all & question.held[i].unreduced);
            any = static_cast<AxisMask>(any | (question.held[i].unreduced & free & asked));
        }
        if (adds_) offer(all, operands);
        offer(adds_ ? static_cast<AxisMask>(all | any) : any, operands);
    }
    if (!adds_) offer(0, 0);
    return opens;
}

// The chips on which the operation may run: one, or all.
std::vector<std::int64_t> OpStrategies::places(const Question& question) const {
    const auto& wanted = question.wanted;
    if (op_->kind == OpKind::move) {
        const Sharding& from = question.held.front();
        if (!tensors_.front().in_host) return {(wanted ? *wanted : from).at};
        if (from.at_chip()) return {from.at};
        if (wanted && wanted->at_chip() && from.used() == 0) return {Sharding::everywhere, wanted->at};
        return {Sharding::everywhere};
    }
    if (wanted && wanted->at_chip()) return {wanted->at};
    std::vector<std::int64_t> places{Sharding::everywhere};
    for (const Sharding& held : question.held) {
        if (question.alone && held.at_chip() && std::find(places.begin(), places.end(), held.at) == places.end()) {
            places.push_back(held.at);
        }
    }
    return places;
}

// Loads from host memory: in the sharding that the tensor has there, or, if every host has the whole tensor, in shares.
void OpStrategies::offer_loads(Query& query) const {
    const Sharding& held = query.asked.held.front();
    AxisList all;
    const std::vector<PlacedAxis>& mesh = costs_->system().mesh;
    for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
        if (mesh[axis].size > 1) all.push_back(axis);
    }
    for (std::size_t d = 0; d < tensors_.back().dims.size(); ++d) {
        std::vector<AxisList>& choices = query.choices[tensors_.back().dims[d]];
        choices = {held.dims[d]};
        if (!query.asked.wanted || held.at_chip() || held.used() != 0) continue;
        add_choice(choices, query.asked.wanted->dims[d]);
        add_choice(choices, all);
    }
}

void OpStrategies::offer_choices(Query& query) const {
    query.choices.assign(dims_.size(), {AxisList{}});
    const std::span<const Sharding> held = query.asked.held;
    if (op_->kind == OpKind::move) {
        // A move computes nothing: the operand goes to where the result is wanted.
        if (tensors_.front().in_host) return offer_loads(query);
        const bool first = converts_first(tensors_.front().element_bytes, tensors_.back().element_bytes, query.asked);
        const Sharding& goal = first ? held.front() : query.asked.wanted ? *query.asked.wanted : held.front();
        for (std::size_t d = 0; d < tensors_.back().dims.size(); ++d) {
            query.choices[tensors_.back().dims[d]] = {goal.dims[d]};
        }
        return;
    }
    const auto offer = [&](std::size_t tensor, const Sharding& sharding) {
        for (std::size_t d = 0; d < tensors_[tensor].dims.size(); ++d) {
            add_choice(query.choices[tensors_[tensor].dims[d]], sharding.dims[d]);
        }
    };
    for (std::size_t i = 0; i < held.size(); ++i) offer(i, held[i]);
    if (query.asked.wanted) {
        offer(held.size(), *query.asked.wanted);
    } else {
        for (std::size_t d = 0; d < query.asked.elsewhere.size(); ++d) {
            for (const AxisList list : query.asked.elsewhere[d]) add_choice(query.choices[d], list);
        }
    }
    if (query.asked.in_part) offer_parts(query);
    // A summed dimension may stay split over the axes over which partial sums are wanted, regardless of its other axes.
    for (std::size_t d = 0; query.asked.wanted && query.asked.wanted->unreduced != 0 && d < dims_.size(); ++d) {
        if (has_place(tensors_.back().dims, d)) continue;
        for (const AxisList list : std::vector<AxisList>(query.choices[d])) {
            AxisList summed;
            for (std::size_t i = 0; i < list.size(); ++i) {
                if ((unsigned{query.asked.wanted->unreduced} >> list[i] & 1U) != 0) summed.push_back(list[i]);
            }
            add_choice(query.choices[d], summed);
        }
    }
    if (query.asked.limit != nullptr && splits_freely()) offer_any(query, query.asked.limit->axes);
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        if (!may_split_[d] || (tied_ && tied_->dim == d)) query.choices[d].resize(1);
    }
}

// Where two dimensions are split over one axis, either may keep the axes before it: the rest is gathered.
void OpStrategies::offer_parts(Query& query) const {
    const std::vector<std::vector<AxisList>> whole = query.choices;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        for (const AxisList list : whole[d]) {
            for (std::size_t other = 0; other < dims_.size(); ++other) {
                for (const AxisList taken : whole[other]) {
                    if (other == d || (list.mask() & taken.mask()) == 0) continue;
                    AxisList first;
                    for (std::size_t i = 0; (unsigned{taken.mask()} >> list[i] & 1U) == 0; ++i)
                        first.push_back(list[i]);
                    add_choice(query.choices[d], first);
                }
            }
        }
    }
}

// True for contractions and elementwise functions, which chips may share along any dimension.
bool OpStrategies::splits_freely() const {
    return op_->kind != OpKind::move && looks_.empty() && rows_.empty() && !tied_ && !statistics_ &&
           unmasked_.slots.empty();
}

void OpStrategies::offer_any(Query& query, AxisMask axes) const {
    double splits = 1;  // of all dimensions together, not counting orders
    for (std::size_t i = 0; i < listed(axes).size(); ++i) splits *= static_cast<double>(dims_.size() + 1);
    if (splits > max_splits) return;
    for (AxisMask set = axes; set != 0; set = static_cast<AxisMask>((set - 1) & axes)) {
        for (const AxisList list : orders_of(set)) {
            for (std::vector<AxisList>& choices : query.choices) add_choice(choices, list);
        }
    }
}

std::vector<double> OpStrategies::least_share(AxisMask axes) {
    std::vector<double> least(costs_->width(), 0.0);
    if (!splits_freely()) return least;
    Query query{{}, {}, {}, {}, {}, {}, {}, {}, {}};
    query.choices.assign(dims_.size(), {AxisList{}});
    offer_any(query, axes);
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        if (!may_split_[d]) query.choices[d].resize(1);
    }
    query.split.resize(dims_.size());
    combine_choices(query, 0, 0);
    std::vector<double> share(least.size());
    for (std::size_t at = 0; at < query.splits.size(); at += dims_.size()) {
        std::fill(share.begin(), share.end(), 0.0);
        share_cost({std::span(query.splits).subspan(at, dims_.size())}, share);
        for (std::size_t i = 0; i < share.size(); ++i) least[i] = at == 0 ? share[i] : std::min(least[i], share[i]);
    }
    return least;
}

bool OpStrategies::too_expensive(const Query& query, std::span<const double> cost) const {
    const SearchLimit* limit = query.asked.limit;
    if (limit == nullptr) return false;
    std::vector<double> whole = limit->others;
    costs_->add(whole, cost, limit->count);
    return costs_->price(whole) > query.least;
}

void OpStrategies::combine_choices(Query& query, std::size_t dim, AxisMask used) const {
    if (query.splits.size() >= max_splits * dims_.size() && !dims_.empty()) return;
    if (dim == dims_.size()) {
        settle(query.split);
        if (!in_reach(query.split)) return;
        query.splits.insert(query.splits.end(), query.split.begin(), query.split.end());
        return;
    }
    for (const AxisList axes : query.choices[dim]) {
        const bool in_order = this->in_order(dim, axes, query.split);
        // Rows that are written to other places must be whole there.
        if (writes_ && !in_order && has_place(rows_, dim) && !axes.empty()) continue;
        const AxisMask mask = in_order ? AxisMask{0} : axes.mask();
        if ((mask & used) != 0) continue;
        query.split[dim] = axes;
        combine_choices(query, dim + 1, static_cast<AxisMask>(used | mask));
    }
}

Sharding OpStrategies::sharding(std::size_t tensor, const Plan& plan) const {
    Sharding sharding;
    sharding.at = plan.at;
    if (plan.open.has(tensor) || tensor + 1 == tensors_.size()) sharding.unreduced = plan.open.axes;
    const std::vector<std::size_t>& dims = tensors_[tensor].dims;
    sharding.rank = static_cast<std::uint8_t>(dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d) sharding.dims[d] = plan.split[dims[d]];
    return sharding;
}

// The statistics that each chip has of its parts of rows; the statistics of a row still have to be reduced.
Sharding OpStrategies::part_statistics(const Plan& plan) const {
    Sharding part;
    part.rank = static_cast<std::uint8_t>(statistics_->dims.size());
    for (std::size_t d = 0; d < part.rank; ++d) part.dims[d] = plan.split[statistics_->dims[d]];
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        if (has_place(statistics_->dims, d)) continue;
        part.unreduced = static_cast<AxisMask>(part.unreduced | plan.split[d].mask());
    }
    return part;
}

// The sharding of the direct result: it is unreduced where a summed dimension is split.
Sharding OpStrategies::made(const Plan& plan) const {
    Sharding made = sharding(tensors_.size() - 1, plan);
    const std::vector<std::size_t>& kept = tensors_.back().dims;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        if (sums_ && !has_place(kept, d)) {
            made.unreduced = static_cast<AxisMask>(made.unreduced | plan.split[d].mask());
        }
    }
    // Rows in order, and rows in expert groups, are already on the right chip.
    if (!rows_.empty() || tied_) {
        for (std::size_t d = 0; d < made.rank; ++d) {
            made.unreduced = static_cast<AxisMask>(made.unreduced & ~made.dims[d].mask());
        }
    }
    return made;
}

// The shardings that the result may take: the wanted one, or else the one in which it is computed, with its sums
// completed or scattered over a dimension.
std::vector<Sharding> OpStrategies::outputs(const Query& query, const Plan& plan) const {
    if (query.asked.wanted) return {*query.asked.wanted};
    if (op_->kind == OpKind::move) return {query.asked.held.front()};
    Sharding whole = made(plan);
    // Sums that the operation around this one wants unreduced stay so; all others are completed or scattered.
    const auto kept = static_cast<AxisMask>(whole.unreduced & query.asked.keep);
    const AxisList sums = listed(static_cast<AxisMask>(whole.unreduced & ~kept));
    whole.unreduced = kept;
    std::vector<Sharding> outputs{whole};
    for (std::size_t d = 0; !sums.empty() && d < whole.rank; ++d) {
        Sharding scattered = whole;
        scattered.dims[d].append(sums);
        outputs.push_back(scattered);
    }
    if (kept != 0) return outputs;
    if (query.asked.limit != nullptr) offer_outputs(whole, made(plan).used(), sums, outputs);
    if (!sums.empty() && query.asked.open) outputs.push_back(made(plan));
    return outputs;
}

// An unreduced result can be resharded to where it is needed while its sums are completed, and any other result can be
// resharded before it is needed. So it may have any sharding over its axes; with more than three axes, its sums may
// only be scattered over any dimensions.
void OpStrategies::offer_outputs(const Sharding& whole, AxisMask used, AxisList sums, std::vector<Sharding>& outputs) {
    constexpr std::size_t most = 3;
    const AxisList all = listed(used);
    if (all.size() > most) return place_any(whole, sums, 0, outputs);
    Sharding bare;
    bare.rank = whole.rank;
    if (!whole.at_chip()) place_any(bare, all, 0, outputs);
}

// Each of these axes splits nothing, or any one dimension.
void OpStrategies::place_any(const Sharding& whole, AxisList axes, std::size_t next, std::vector<Sharding>& outputs) {
    if (next == axes.size()) {
        if (std::find(outputs.begin(), outputs.end(), whole) == outputs.end()) outputs.push_back(whole);
        return;
    }
    place_any(whole, axes, next + 1, outputs);
    for (std::size_t d = 0; d < whole.rank; ++d) {
        Sharding scattered = whole;
        scattered.dims[d].push_back(axes[next]);
        place_any(scattered, axes, next + 1, outputs);
        if (whole.dims[d].empty()) continue;
        Sharding outermost = whole;
        outermost.dims[d] = AxisList{};
        outermost.dims[d].push_back(axes[next]);
        outermost.dims[d].append(whole.dims[d]);
        place_any(outermost, axes, next + 1, outputs);
    }
}

// The chip's share of the work. All chips compute equally much of a masked plane, but all of a band when columns of
// other chips are needed.
void OpStrategies::share_cost(const Plan& plan, std::span<double> cost) {
    bool split_band = false;
    Looks* looks = plan.halo.none() ? nullptr : &looks_[plan.halo.which];
    for (std::size_t d = 0; d < dims_.size(); ++d) {
        const AxisList axes = looks != nullptr && d == looks->dim ? plan.halo.axes : plan.split[d];
        const bool whole = axes.empty();
        shares_[d] =
            whole ? sizes_[d] : std::ceil(sizes_[d] / static_cast<double>(chips_across(costs_->system(), axes)));
        split_band = split_band || (banded_[d] && !whole && looks == nullptr);
    }
    const Compiled& compiled = looks != nullptr ? looks->compiled : split_band ? unmasked_ : whole_;
    compiled.times.evaluate(shares_, seconds_);
    for (std::size_t i = 0; i < compiled.slots.size(); ++i) {
        costs_->add_time(cost, compiled.slots[i], seconds_[i] * (split_band ? bands_[i] : 1));
    }
}

}  // namespace roofline::core
