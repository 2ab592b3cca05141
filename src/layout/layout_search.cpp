#include "layout/layout_search.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace roofline::core {

LayoutSearch::ShardingId LayoutSearch::interned(const Sharding& sharding) {
    const std::uint64_t hash = sharding.hash();
    std::size_t id = 0;
    while (id < hashes_.size() && !(hashes_[id] == hash && shardings_[id] == sharding)) ++id;
    if (id == hashes_.size()) {
        shardings_.push_back(sharding);
        hashes_.push_back(hash);
    }
    return static_cast<ShardingId>(id);
}

LayoutSearch::ShardingId LayoutSearch::lie_of(ValueId value, const State& state) const {
    const auto place = std::lower_bound(live_.begin(), live_.end(), value) - live_.begin();
    return state.lies[static_cast<std::size_t>(place)];
}

std::vector<ValueId> LayoutSearch::live_after(std::size_t index) const {
    std::vector<ValueId> live;
    for (const ValueId value : live_) {
        if (last_use_[value] > index) live.push_back(value);
    }
    const ValueId output = ops_[index].strategies.op().output.value;
    if (!fixed_[output] && last_use_[output] > index) {
        live.insert(std::lower_bound(live.begin(), live.end(), output), output);
    }
    return live;
}

const LayoutSearch::Known& LayoutSearch::known_strategies(std::size_t index, const State& state) {
    CompiledOp& op = ops_[index];
    const auto lie = [&](ValueId value) { return fixed_[value] ? fixed_ids_[value] : lie_of(value, state); };
    std::vector<ShardingId> asked;
    for (const Operand& input : op.strategies.op().inputs) asked.push_back(lie(input.value));
    const ValueId output = op.strategies.op().output.value;
    asked.push_back(fixed_[output] ? fixed_ids_[output] : op.same_sharding_as ? lie(*op.same_sharding_as) : anywhere);
    const auto [known, added] = known_[limits_.empty() ? op.equivalent : index].try_emplace(std::move(asked));
    // An error names the operation's own tensors.
    if (added || (known->second.error && known->second.op != index)) {
        known->second = strategies_for(index, known->first);
    }
    return known->second;
}

LayoutSearch::Known LayoutSearch::strategies_for(std::size_t index, std::span<const ShardingId> asked) {
    CompiledOp& op = ops_[index];
    std::vector<Sharding> held;
    for (const ShardingId id : asked.first(asked.size() - 1)) held.push_back(shardings_[id]);
    std::optional<Sharding> wanted;
    if (asked.back() != anywhere) wanted = shardings_[asked.back()];
    Known made;
    made.op = index;
    const SearchLimit* limit = limits_.empty() ? nullptr : &limits_[index];
    auto found = op.strategies.strategies(
        {held, wanted, op.elsewhere, op.alone, op.open, false, op.keep, limit, op.free, in_part_});
    if (!found) {
        made.error = found.error();
        return made;
    }
    made.strategies.reserve(found->size());
    made.outputs.reserve(found->size());
    for (Strategy& strategy : *found) {
        const ShardingId lies = interned(strategy.output);
        bool dominated = false;
        for (std::size_t i = 0; i < made.strategies.size() && !dominated; ++i) {
            dominated = made.outputs[i] == lies && costs_->no_worse(made.strategies[i].cost, strategy.cost);
        }
        if (dominated) continue;
        made.outputs.push_back(lies);
        made.strategies.push_back(std::move(strategy));
    }
    return made;
}

std::span<const double> LayoutSearch::row(const State& state, std::size_t i) const {
    return std::span(state.costs).subspan(i * costs_->width(), costs_->width());
}

LayoutPrice LayoutSearch::best(const State& state) const {
    LayoutPrice least = costs_->price(row(state, 0));
    for (std::size_t i = 1; i < state.traces.size(); ++i) least = std::min(least, costs_->price(row(state, i)));
    return least;
}

bool LayoutSearch::keep(State& state, std::span<const double> cost, std::size_t trace) const {
    const LayoutPrice price = costs_->price(cost);
    const double far = price.lower_s + price.upper_s;
    const bool full = this->full(state);
    if (full && far >= state.far[state.worst]) return false;
    constexpr double tolerance = 1 + 1e-12;
    const auto kept = [&](std::size_t i) {
        return std::span<const double>(&state.costs[i * cost.size()], cost.size());
    };
    for (std::size_t i = 0; i < state.traces.size(); ++i) {
        if (state.far[i] <= far * tolerance && costs_->no_worse(kept(i), cost)) return false;
    }
    const auto drop = [&](std::size_t i) {
        const auto at = state.costs.begin() + static_cast<std::ptrdiff_t>(i * cost.size());
        state.costs.erase(at, at + static_cast<std::ptrdiff_t>(cost.size()));
        state.traces.erase(state.traces.begin() + static_cast<std::ptrdiff_t>(i));
        state.far.erase(state.far.begin() + static_cast<std::ptrdiff_t>(i));
    };
    if (full) drop(state.worst);
    for (std::size_t i = state.traces.size(); i-- > 0;) {
        if (far <= state.far[i] * tolerance && costs_->no_worse(cost, kept(i))) drop(i);
    }
    if (state.traces.empty()) {
        const std::size_t rows = std::min(pass_limits_.kept, PassLimits{}.kept);
        state.costs.reserve(rows * cost.size());
        state.traces.reserve(rows);
        state.far.reserve(rows);
    }
    state.costs.insert(state.costs.end(), cost.begin(), cost.end());
    state.traces.push_back(trace);
    state.far.push_back(far);
    if (this->full(state)) {
        const auto worst = std::max_element(state.far.begin(), state.far.end());
        state.worst = static_cast<std::size_t>(worst - state.far.begin());
    }
    return true;
}

void LayoutSearch::trim(State& state, std::size_t kept) const {
    std::vector<std::size_t> order(state.traces.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return std::pair(state.far[a], a) < std::pair(state.far[b], b); });
    State least{state.lies, {}, {}, {}, 0};
    for (const std::size_t i : std::span(order).first(kept)) {
        const auto costs = row(state, i);
        least.costs.insert(least.costs.end(), costs.begin(), costs.end());
        least.traces.push_back(state.traces[i]);
        least.far.push_back(state.far[i]);
    }
    state = std::move(least);
}

namespace {

// Whether a strategy has resharded this operand to the sharding that another operation wants.
bool brings(const Strategy& strategy, std::size_t operand, std::size_t resharding) {
    return std::any_of(strategy.moves.begin(), strategy.moves.end(),
                       [&](const TensorMove& move) { return move.tensor == operand && move.resharding == resharding; });
}

}  // namespace

// Subtracts those collectives of a strategy that move an operand into a sharding that another operation of this
// iteration has already produced.
void LayoutSearch::take_back_done(std::size_t index, const Strategy& strategy, std::size_t trace, double count,
                                  std::span<double> cost) const {
    const CompiledOp& op = ops_[index];
    for (const TensorMove& move : strategy.moves) {
        if (move.tensor >= op.before.size()) continue;
        std::size_t at = index;  // `trace` belongs to the operation before it
        std::size_t here = trace;
        for (const Use& use : op.before[move.tensor]) {
            for (; at > use.op + 1; --at) here = traces_[here].before;
            if (use.op == index || !brings(*traces_[here].strategy, use.operand, move.resharding)) continue;
            for (const Move& each : (*reshardings_)[move.resharding].moves) {
                costs_->take_back(cost, each.route(), each.bytes, count);
            }
            break;
        }
    }
}

double LayoutSearch::least_added(std::size_t index, const Strategy& strategy) const {
    double seconds = strategy.price.upper_s;
    constexpr double rounding = 1e-9;
    for (const TensorMove& move : strategy.moves) {
        if (move.tensor >= ops_[index].before.size() || ops_[index].before[move.tensor].empty()) continue;
        seconds -= (*reshardings_)[move.resharding].price.upper_s + rounding * strategy.price.upper_s;
    }
    return std::max(seconds, 0.0);
}

bool LayoutSearch::done_before(std::size_t op, const TensorMove& move, const ProgramLayout& layout) const {
    if (move.tensor >= ops_[op].before.size()) return false;
    const std::vector<Use>& uses = ops_[op].before[move.tensor];
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
        return use.op != op && brings(layout.choices[use.op].strategy, use.operand, move.resharding);
    });
}

// How often an operation is executed.
double LayoutSearch::count_of(std::size_t index) const {
    double count = 1;
    for (const std::string& dim : ops_[index].counts) {
        const auto size = sizes_.find(dim);
        if (size != sizes_.end()) count *= static_cast<double>(size->second);
    }
    return count;
}

// Whether a prefix of the program cannot lead to a better layout than the best one so far.
bool LayoutSearch::too_expensive(std::span<const double> cost, std::size_t next) const {
    if (limits_.empty()) return false;
    std::vector<double> whole = rest_[next];
    costs_->add(whole, cost, 1);
    return costs_->price(whole) > limits_.front().least;
}

// For the second pass: the cost that a layout must not exceed, and the minimum cost of every operation.
void LayoutSearch::limit(const ProgramLayout* found) {
    limits_.clear();
    rest_.clear();
    pass_limits_ = first_limits_;
    op_evaluations_left_ = 0;
    if (found == nullptr) return;
    pass_limits_ = {256, 4096, 65536};
    const std::vector<double> none(costs_->width(), 0.0);
    std::vector<std::vector<double>> least;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
        least.push_back(none);
        costs_->add(least.back(), ops_[i].strategies.least_share(axes_[i]), count_of(i));
    }
    rest_.assign(ops_.size() + 1, none);
    for (std::size_t i = ops_.size(); i-- > 0;) {
        rest_[i] = rest_[i + 1];
        costs_->add(rest_[i], least[i], 1);
    }
    std::vector<double> before = none;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
        const bool alone =
            ops_.size() == 1 && fixed_[ops_[i].strategies.op().output.value].has_value() && count_of(i) == 1;
        limits_.push_back({axes_[i], found->price, alone, before, count_of(i), &op_evaluations_left_});
        costs_->add(limits_.back().others, rest_[i + 1], 1);
        costs_->add(before, least[i], 1);
    }
}

void LayoutSearch::add_up(const Step& step, std::size_t row, const Advance& to, std::span<double> sum) const {
    const auto cost = this->row(*step.state, row);
    std::copy(cost.begin(), cost.end(), sum.begin());
    costs_->add(sum, step.strategy->cost, to.count);
    costs_->keep_results(sum, step.strategy->cost, to.count, to.own, to.live.size() > (to.own ? 1U : 0U));
    take_back_done(to.index, *step.strategy, step.state->traces[row], to.count, sum);
}

void LayoutSearch::take(const Step& step, Advance& to) {
    const State& state = *step.state;
    State& reached = to.next[step.place];
    if (!limits_.empty()) op_evaluations_left_ -= static_cast<std::int64_t>(state.traces.size());
    const double added_s = to.count * least_added(to.index, *step.strategy);
    std::vector<double> sum(costs_->width());
    for (std::size_t i = 0; i < state.traces.size(); ++i) {
        // Most rows are too far away, which is known before their costs are added up.
        if (too_far(state.far[i] + added_s, reached)) continue;
        add_up(step, i, to, sum);
        if (!too_expensive(sum, to.index + 1) && keep(reached, sum, traces_.size()))
            traces_.push_back({state.traces[i], step.strategy});
    }
}

// Only the most promising states are kept, so the others need not be built.
void LayoutSearch::drop_unpromising(std::vector<Step>& steps, const Advance& to) const {
    std::vector<std::pair<LayoutPrice, std::size_t>> order(to.next.size());
    std::vector<bool> known(to.next.size());
    std::vector<double> sum(costs_->width());
    for (const Step& step : steps) {
        auto& [least, place] = order[step.place];
        place = step.place;
        for (std::size_t i = 0; i < step.state->traces.size(); ++i) {
            add_up(step, i, to, sum);
            const LayoutPrice price = costs_->price(sum);
            if (!known[place] || price < least) least = price;
            known[place] = true;
        }
    }
    std::sort(order.begin(), order.end());
    std::vector<bool> promising(to.next.size());
    for (const auto& [least, place] : std::span(order).first(pass_limits_.states)) promising[place] = true;
    std::erase_if(steps, [&](const Step& step) { return !promising[step.place]; });
}

Status LayoutSearch::advance(std::size_t index) {
    Advance to{index, count_of(index), live_after(index)};
    const ValueId output = ops_[index].strategies.op().output.value;
    to.own = std::binary_search(to.live.begin(), to.live.end(), output);
    std::map<std::vector<ShardingId>, std::size_t> places;
    std::vector<State>& next = to.next;
    std::vector<Step> steps;
    std::vector<ShardingId> lies;
    std::optional<Error> problem;
    const bool limited = !limits_.empty();
    const bool at_once = limited || !to.own;  // otherwise there may be too many states to build
    for (const State& state : states_) {
        if (op_evaluations_left_ < 0) break;
        lies.clear();
        for (const ValueId value : to.live) lies.push_back(value == output ? anywhere : lie_of(value, state));
        if (!limited && !to.own) {
            const auto known = places.find(lies);
            const auto far = std::min_element(state.far.begin(), state.far.end());
            if (known != places.end() && too_far(*far, next[known->second])) continue;
        }
        const Known& known = known_strategies(index, state);
        if (known.error) problem = known.error;
        for (std::size_t w = 0; w < known.strategies.size(); ++w) {
            for (std::size_t i = 0; i < lies.size() && to.own; ++i) {
                if (to.live[i] == output) lies[i] = known.outputs[w];
            }
            const auto [place, added] = places.emplace(lies, next.size());
            if (added) next.push_back({lies, {}, {}, {}, 0});
            steps.push_back({&state, &known.strategies[w], place->second});
            if (!at_once) continue;
            take(steps.back(), to);
            steps.pop_back();
        }
    }
    const bool many = next.size() > pass_limits_.states;
    if (many && !at_once) drop_unpromising(steps, to);
    for (const Step& step : steps) take(step, to);
    std::erase_if(next, [](const State& state) { return state.traces.empty(); });
    if (next.empty()) return problem ? fail(*problem) : fail("no_layout", "no layout is better");
    // those that promise most come first, for there may be no evaluations left for the others
    if (limited || many) {
        std::vector<std::pair<LayoutPrice, std::size_t>> order;
        for (std::size_t i = 0; i < next.size(); ++i) order.emplace_back(best(next[i]), i);
        std::sort(order.begin(), order.end());
        std::vector<State> sorted;
        for (const auto& [price, i] : order) sorted.push_back(std::move(next[i]));
        next = std::move(sorted);
    }
    if (next.size() > pass_limits_.states) next.resize(pass_limits_.states);
    const std::size_t kept = std::max(pass_limits_.rows / next.size(), min_kept);
    for (State& state : next) {
        if (state.traces.size() > kept) trim(state, kept);
    }
    live_ = std::move(to.live);
    states_ = std::move(next);
    return {};
}

void LayoutSearch::start(const Sizes& sizes) {
    sizes_ = sizes;
    std::vector<std::string> dims;
    for (const CompiledOp& op : ops_)
        dims.insert(dims.end(), op.strategies.symbols().begin(), op.strategies.symbols().end());
    const Sizes known = comparable_sizes(sizes, dims);
    for (CompiledOp& op : ops_) op.strategies.set_sizes(known);
    reshardings_->set_sizes(known);
    limit(nullptr);
}

Result<ProgramLayout> LayoutSearch::choose_as_written(const Sizes& sizes) {
    start(sizes);
    ROOFLINE_CHECK(pass());
    return cheapest();
}

Result<ProgramLayout> LayoutSearch::choose(const Sizes& sizes) {
    auto written = choose_as_written(sizes);
    if (axes_.empty() || !written) return written;
    ProgramLayout best = std::move(*written);
    constexpr double worth_another = 0.98;  // of the bound before
    bool again = true;
    for (std::size_t i = 0; i < max_passes && again; ++i) {
        limit(&best);
        evaluations_left_ = max_evaluations;
        again = cut_short_ = false;
        if (pass()) {
            ProgramLayout any = cheapest();
            again = cut_short_ && any.price.lower_s < worth_another * best.price.lower_s;
            if (any.price < best.price) best = std::move(any);
        }
    }
    best.cut_short = cut_short_;
    return best;
}

Result<ProgramLayout> LayoutSearch::choose_sequential(const Sizes& sizes, double collective_s) {
    start(sizes);
    ROOFLINE_CHECK(pass());
    std::optional<std::pair<double, std::size_t>> best;  // seconds and trace
    LayoutPrice least;
    for (const State& state : states_) {
        for (std::size_t i = 0; i < state.traces.size(); ++i) {
            const LayoutPrice price = costs_->price(row(state, i));
            const double seconds = price.upper_s + price.collectives * collective_s;
            if (best && best->first <= seconds) continue;
            best = {seconds, state.traces[i]};
            least = price;
        }
    }
    return traced(best->second, least);
}

Result<std::vector<ProgramLayout>> LayoutSearch::candidates(const Sizes& sizes) {
    start(sizes);
    ROOFLINE_CHECK(pass());
    std::vector<ProgramLayout> found{cheapest()};
    std::vector<std::pair<LayoutPrice, std::size_t>> all;  // and traces
    for (const State& state : states_) {
        for (std::size_t i = 0; i < state.traces.size(); ++i) {
            all.emplace_back(costs_->price(row(state, i)), state.traces[i]);
        }
    }
    const auto take = [&](std::size_t most, auto&& key) {
        std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
        for (std::size_t i = 0; i < std::min(most, all.size()); ++i)
            found.push_back(traced(all[i].second, all[i].first));
    };
    take(max_candidates, [](const auto& each) { return std::pair(each.first.upper_s, each.second); });
    // Every collective takes some launch time, which bounds do not include.
    take(max_candidates,
         [](const auto& each) { return std::tuple(each.first.collectives, each.first.upper_s, each.second); });
    return found;
}

Status LayoutSearch::pass() {
    live_.clear();
    shardings_.clear();
    hashes_.clear();
    fixed_ids_.clear();
    for (const auto& fixed : fixed_) fixed_ids_.push_back(fixed ? interned(*fixed) : anywhere);
    known_.assign(ops_.size(), {});
    traces_.assign(1, Trace{});
    states_.assign(1, State{{}, std::vector<double>(costs_->width(), 0.0), {0}, {0}, 0});
    for (std::size_t i = 0; i < ops_.size(); ++i) {
        const std::int64_t share = evaluations_left_ / static_cast<std::int64_t>(ops_.size() - i);
        op_evaluations_left_ = share;
        ROOFLINE_CHECK(advance(i));
        if (limits_.empty()) continue;
        cut_short_ = cut_short_ || op_evaluations_left_ < 0;
        evaluations_left_ -= share - std::max<std::int64_t>(op_evaluations_left_, 0);
    }
    return {};
}

ProgramLayout LayoutSearch::cheapest() const {
    LayoutPrice least;
    std::optional<std::size_t> trace;
    for (const State& state : states_) {
        for (std::size_t i = 0; i < state.traces.size(); ++i) {
            const LayoutPrice price = costs_->price(row(state, i));
            if (trace && !(price < least)) continue;
            least = price;
            trace = state.traces[i];
        }
    }
    return traced(*trace, least);
}

ProgramLayout LayoutSearch::traced(std::size_t trace, const LayoutPrice& price) const {
    ProgramLayout layout;
    layout.price = price;
    layout.choices.resize(ops_.size());
    for (std::size_t i = ops_.size(); i-- > 0; trace = traces_[trace].before) {
        layout.choices[i].strategy = *traces_[trace].strategy;
    }
    for (const auto& fixed : fixed_) layout.held.push_back(fixed.value_or(Sharding{}));
    for (std::size_t i = 0; i < ops_.size(); ++i) {
        ProgramLayout::Choice& choice = layout.choices[i];
        const Op& op = ops_[i].strategies.op();
        for (const Operand& input : op.inputs) choice.held.push_back(layout.held[input.value]);
        if (fixed_[op.output.value]) choice.wanted = fixed_[op.output.value];
        if (!choice.wanted && ops_[i].same_sharding_as) choice.wanted = layout.held[*ops_[i].same_sharding_as];
        if (!fixed_[op.output.value]) layout.held[op.output.value] = choice.strategy.output;
    }
    return layout;
}

Result<std::vector<Strategy>> LayoutSearch::strategies(std::size_t op, const ProgramLayout& layout) {
    const ProgramLayout::Choice& choice = layout.choices[op];
    ROOFLINE_TRY(auto strategies, ops_[op].strategies.strategies({choice.held,
                                                                  choice.wanted,
                                                                  ops_[op].elsewhere,
                                                                  ops_[op].alone,
                                                                  ops_[op].open,
                                                                  true,
                                                                  ops_[op].keep,
                                                                  nullptr,
                                                                  {},
                                                                  in_part_}));
    std::erase_if(strategies, [&](const Strategy& strategy) {
        return strategy.split == choice.strategy.split && strategy.at == choice.strategy.at &&
               strategy.output == choice.strategy.output;
    });
    strategies.insert(strategies.begin(), choice.strategy);
    return strategies;
}

}  // namespace roofline::core
