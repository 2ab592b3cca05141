#include "layout/layout_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "work/work.hpp"

namespace roofline {

namespace {

// The chips that tensors are at: the first of them, where there are many.
std::vector<std::int64_t> roots_in(const Program& program, const System& system) {
    constexpr std::size_t most = 8;
    std::set<std::int64_t> roots;
    for (const Value& value : program.values) {
        if (value.type.at.empty() || roots.size() == most) continue;
        const auto sharding = sharding_of(value.type, system);
        if (sharding && sharding->at_chip()) roots.insert(sharding->at);
    }
    return {roots.begin(), roots.end()};
}

// Which tensors cross memory in each operation of a kernel, in order.
std::vector<Stored> stored_in(const KernelWork& kernel) {
    std::set<ValueId> reads;
    std::set<ValueId> writes;
    for (const Transfer& transfer : kernel.transfers) (transfer.write ? writes : reads).insert(transfer.value);
    std::vector<Stored> all;
    for (const Statement* statement : kernel.statements) {
        for (const Op& op : statement->ops) {
            Stored stored;
            for (const Operand& input : op.inputs) stored.inputs.push_back(reads.erase(input.value) > 0);
            stored.output = writes.contains(op.output.value);
            all.push_back(std::move(stored));
        }
    }
    return all;
}

}  // namespace

Program unsplit(const Program& program) {
    Program copy = program;
    for (Value& value : copy.values) {
        for (Axis& axis : value.type.axes) axis.mesh.clear();
        value.type.unreduced.clear();
        value.type.at.clear();
    }
    return copy;
}

LayoutSearch::LayoutSearch(const Program& program, const System& system)
    : program_(&program),
      costs_(std::make_unique<ChoiceCosts>(system, roots_in(program, system))),
      reshardings_(std::make_unique<Reshardings>(*costs_)) {}

namespace {

// What no rule says how to split: the columns of a band, which the last rows alone have or all in turn.
Status check_splittable(const Program& program) {
    for (const Value& value : program.values) {
        for (const MaskedPlane& plane : value.masks) {
            const bool split = std::any_of(value.type.axes.begin(), value.type.axes.end(), [&](const Axis& axis) {
                return !axis.mesh.empty() && axis.dim == plane.columns;
            });
            if (plane.window.empty() || !split) continue;
            return fail(
                "unsupported",
                fmt::format("a causal mask with a window, {}, over split columns, {}", plane.window, plane.columns),
                fmt::format("split its rows, {}, or other dimensions (heads, the batch)", plane.rows));
        }
    }
    return {};
}

}  // namespace

Result<LayoutSearch> LayoutSearch::compile(const Program& program, const System& system, const StayingAxes& stay) {
    LayoutSearch search(program, system);
    if (auto status = check_splittable(program); !status) return fail(status.error());
    for (const Value& value : program.values) {
        auto sharding = roofline::sharding_of(value.type, system);
        if (!sharding) return fail(sharding.error());
        const bool free = value.intermediate || value.type_follows;
        search.fixed_.push_back(free ? std::nullopt : std::optional(*sharding));
    }
    search.fix_inner(program.body);
    search.note_splits();
    if (auto status = search.compile_ops(stay); !status) return fail(status.error());
    return search;
}

// A statement whose result is wanted at one chip is done by that chip, all of it.
void LayoutSearch::fix_inner(const Block& block) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            fix_inner(*inner);
            continue;
        }
        const Statement& statement = std::get<Statement>(node);
        const std::optional<Sharding>& result = fixed_[statement.result];
        if (!result || !result->at_chip()) continue;
        for (const Op& op : statement.ops) {
            if (op.output.value == statement.result) continue;
            Sharding inside;
            inside.rank = static_cast<std::uint8_t>(op.output.dims.size());
            inside.at = result->at;
            fixed_[op.output.value] = inside;
        }
    }
}

// Whether all tensors that are at a chip are at the same one.
bool LayoutSearch::one_place() const {
    std::set<std::int64_t> places;
    for (const auto& fixed : fixed_) {
        if (fixed && fixed->at_chip()) places.insert(fixed->at);
    }
    return places.size() == 1;
}

void LayoutSearch::note_splits() {
    for (ValueId id = 0; id < program_->values.size(); ++id) {
        if (!fixed_[id]) continue;
        const std::vector<Axis>& axes = program_->values[id].type.axes;
        for (std::size_t d = 0; d < axes.size(); ++d) {
            std::vector<AxisList>& splits = splits_[axes[d].dim];
            const AxisList split = fixed_[id]->dims[d];
            if (!split.empty() && std::find(splits.begin(), splits.end(), split) == splits.end())
                splits.push_back(split);
        }
    }
}

std::vector<AxisMask> LayoutSearch::staying(const Op& op, const StayingAxes& stay) const {
    std::vector<AxisMask> masks;
    const std::vector<PlacedAxis>& mesh = costs_->system().mesh;
    const auto add = [&](ValueId value) {
        AxisMask mask = 0;
        const auto known = stay.find(value);
        for (std::size_t axis = 0; known != stay.end() && axis < mesh.size(); ++axis) {
            if (has(known->second, mesh[axis].name)) mask = static_cast<AxisMask>(mask | 1U << axis);
        }
        masks.push_back(mask);
    };
    for (const Operand& input : op.inputs) add(input.value);
    add(op.output.value);
    return masks;
}

Status LayoutSearch::compile_ops(const StayingAxes& stay) {
    const Program whole = unsplit(*program_);
    auto work = derive_work(whole);
    if (!work) return fail(work.error());
    std::map<const Statement*, std::vector<Stored>> stored;
    for (const KernelWork& kernel : work->kernels) {
        std::vector<Stored> ops = stored_in(kernel);
        auto next = ops.begin();
        for (const Statement* statement : kernel.statements) {
            const auto end = next + static_cast<std::ptrdiff_t>(statement->ops.size());
            stored[statement].assign(next, end);
            next = end;
        }
    }
    last_use_.assign(program_->values.size(), 0);
    std::map<std::string, ValueId> named;
    for (ValueId id = 0; id < program_->values.size(); ++id) {
        if (fixed_[id]) named.emplace(program_->values[id].name, id);
    }
    std::vector<std::string> counts;
    std::map<ValueId, std::vector<Use>> uses;  // of the pass that is being read
    const bool one_place = this->one_place();
    bool fused = false;
    // The two programs have the same shape: one has the types, the other was counted.
    const auto walk = [&](const auto& self, const Block& block, const Block& counted) -> Status {
        for (std::size_t i = 0; i < block.nodes.size(); ++i) {
            if (const auto* inner = std::get_if<Block>(&block.nodes[i])) {
                const bool repeats = inner->kind == Block::Kind::repeat;
                if (repeats) counts.push_back(inner->count);
                std::map<ValueId, std::vector<Use>> outside;
                if (repeats) outside.swap(uses);
                const bool before = std::exchange(fused, fused || inner->kind == Block::Kind::fuse);
                if (auto status = self(self, *inner, std::get<Block>(counted.nodes[i])); !status) return status;
                fused = before;
                if (repeats) {
                    counts.pop_back();
                    uses.swap(outside);
                }
                continue;
            }
            const Statement& statement = std::get<Statement>(block.nodes[i]);
            const std::vector<Stored>& crossing = stored[&std::get<Statement>(counted.nodes[i])];
            for (std::size_t o = 0; o < statement.ops.size(); ++o) {
                const Op& op = statement.ops[o];
                auto ways = OpWays::compile(*program_, op, crossing[o], *costs_, *reshardings_);
                if (!ways) return fail(ways.error());
                // A kernel is done by one chip or by all.
                const bool alone = one_place && !fused && statement.ops.size() == 1;
                CompiledOp compiled{std::move(*ways), counts, {}, {}, alone};
                // Sums inside an expression may stay partial until they are added to others.
                const auto add_behind =
                    std::any_of(statement.ops.begin() + static_cast<std::ptrdiff_t>(o) + 1, statement.ops.end(),
                                [](const Op& other) { return other.function == "add" || other.function == "sub"; });
                compiled.open = add_behind && op.output.value != statement.result;
                if (!stay.empty()) compiled.ways.stay(staying(op, stay));
                for (const std::string& dim : compiled.ways.dims()) compiled.elsewhere.push_back(splits_[dim]);
                compiled.ways.lie(compiled.elsewhere);
                const std::size_t index = ops_.size();
                for (std::size_t input = 0; input < op.inputs.size(); ++input) {
                    std::vector<Use>& known = uses[op.inputs[input].value];
                    last_use_[op.inputs[input].value] = index;
                    compiled.before.emplace_back(known.rbegin(), known.rend());
                    known.push_back({index, input});
                }
                const Value& output = program_->values[op.output.value];
                if (output.carried && !fixed_[op.output.value]) {
                    compiled.lies_as = named.at(output.name);
                    last_use_[*compiled.lies_as] = index;
                }
                if (!output.intermediate) named[output.name] = op.output.value;
                ops_.push_back(std::move(compiled));
            }
        }
        return {};
    };
    return walk(walk, program_->body, whole.body);
}

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
    const ValueId output = ops_[index].ways.op().output.value;
    if (!fixed_[output] && last_use_[output] > index) {
        live.insert(std::lower_bound(live.begin(), live.end(), output), output);
    }
    return live;
}

const LayoutSearch::Known& LayoutSearch::known_ways(std::size_t index, const State& state, std::deque<Known>& known) {
    CompiledOp& op = ops_[index];
    std::vector<ShardingId> asked;
    const auto ask = [&](ValueId value) {
        if (!fixed_[value]) asked.push_back(lie_of(value, state));
    };
    for (const Operand& input : op.ways.op().inputs) ask(input.value);
    if (op.lies_as) ask(*op.lies_as);
    for (const Known& each : known) {
        if (each.asked == asked) return each;
    }
    const auto lie = [&](ValueId value) { return fixed_[value] ? *fixed_[value] : shardings_[lie_of(value, state)]; };
    std::vector<Sharding> held;
    for (const Operand& input : op.ways.op().inputs) held.push_back(lie(input.value));
    std::optional<Sharding> wanted = fixed_[op.ways.op().output.value];
    if (!wanted && op.lies_as) wanted = lie(*op.lies_as);
    Known& made = known.emplace_back();
    made.asked = std::move(asked);
    auto found = op.ways.ways({held, wanted, op.elsewhere, op.alone, op.open, false});
    if (!found) {
        made.error = found.error();
        return made;
    }
    for (Way& way : *found) {
        const bool beaten = std::any_of(made.ways.begin(), made.ways.end(), [&](const Way& other) {
            return other.output == way.output && costs_->no_worse(other.cost, way.cost);
        });
        if (beaten) continue;
        made.outputs.push_back(interned(way.output));
        made.ways.push_back(std::move(way));
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
    const auto worst = std::max_element(state.far.begin(), state.far.end());
    const bool full = state.traces.size() == most_kept;
    if (full && far >= *worst) return false;
    for (std::size_t i = 0; i < state.traces.size(); ++i) {
        if (state.far[i] <= far * (1 + 1e-12) && costs_->no_worse(row(state, i), cost)) return false;
    }
    const auto drop = [&](std::size_t i) {
        const auto at = state.costs.begin() + static_cast<std::ptrdiff_t>(i * cost.size());
        state.costs.erase(at, at + static_cast<std::ptrdiff_t>(cost.size()));
        state.traces.erase(state.traces.begin() + static_cast<std::ptrdiff_t>(i));
        state.far.erase(state.far.begin() + static_cast<std::ptrdiff_t>(i));
    };
    if (full) drop(static_cast<std::size_t>(worst - state.far.begin()));
    for (std::size_t i = state.traces.size(); i-- > 0;) {
        if (far <= state.far[i] * (1 + 1e-12) && costs_->no_worse(cost, row(state, i))) drop(i);
    }
    state.costs.insert(state.costs.end(), cost.begin(), cost.end());
    state.traces.push_back(trace);
    state.far.push_back(far);
    return true;
}

void LayoutSearch::trim(State& state, std::size_t kept) const {
    std::vector<std::size_t> order(state.traces.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return std::pair(state.far[a], a) < std::pair(state.far[b], b); });
    State least{state.lies, {}, {}, {}};
    for (const std::size_t i : std::span(order).first(kept)) {
        const auto costs = row(state, i);
        least.costs.insert(least.costs.end(), costs.begin(), costs.end());
        least.traces.push_back(state.traces[i]);
        least.far.push_back(state.far[i]);
    }
    state = std::move(least);
}

namespace {

// Whether a way has brought this operand to where another wants it.
bool brings(const Way& way, std::size_t operand, std::size_t resharding) {
    return std::any_of(way.moves.begin(), way.moves.end(),
                       [&](const TensorMove& move) { return move.tensor == operand && move.resharding == resharding; });
}

}  // namespace

// Of a way's collectives those that bring an operand to where it already is, gathered for another operation of this pass.
void LayoutSearch::take_back_done(std::size_t index, const Way& way, std::size_t trace, double count,
                                  std::span<double> cost) const {
    const CompiledOp& op = ops_[index];
    for (const TensorMove& move : way.moves) {
        if (move.tensor >= op.before.size()) continue;
        std::size_t at = index;  // `trace` is that of the operation before it
        std::size_t here = trace;
        for (const Use& use : op.before[move.tensor]) {
            for (; at > use.op + 1; --at) here = traces_[here].before;
            if (use.op == index || !brings(*traces_[here].way, use.operand, move.resharding)) continue;
            for (const Move& each : (*reshardings_)[move.resharding].moves) {
                costs_->take_back(cost, each.route(), each.bytes, count);
            }
            break;
        }
    }
}

bool LayoutSearch::done_before(std::size_t op, const TensorMove& move, const ProgramLayout& layout) const {
    if (move.tensor >= ops_[op].before.size()) return false;
    const std::vector<Use>& uses = ops_[op].before[move.tensor];
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
        return use.op != op && brings(layout.choices[use.op].way, use.operand, move.resharding);
    });
}

Status LayoutSearch::step(std::size_t index) {
    double count = 1;
    for (const std::string& dim : ops_[index].counts) {
        const auto size = sizes_.find(dim);
        if (size != sizes_.end()) count *= static_cast<double>(size->second);
    }
    const std::vector<ValueId> live = live_after(index);
    const ValueId output = ops_[index].ways.op().output.value;
    std::map<std::vector<ShardingId>, std::size_t> places;
    std::vector<State> next;
    std::vector<double> sum(costs_->width());
    std::optional<Error> problem;
    for (const State& state : states_) {
        const Known& known = known_ways(index, state, known_[index]);
        if (known.error) problem = known.error;
        for (std::size_t w = 0; w < known.ways.size(); ++w) {
            std::vector<ShardingId> lies;
            for (const ValueId value : live) lies.push_back(value == output ? known.outputs[w] : lie_of(value, state));
            const auto [place, added] = places.emplace(lies, next.size());
            if (added) next.push_back({std::move(lies), {}, {}, {}});
            for (std::size_t i = 0; i < state.traces.size(); ++i) {
                std::copy_n(row(state, i).begin(), sum.size(), sum.begin());
                costs_->add(sum, known.ways[w].cost, count);
                take_back_done(index, known.ways[w], state.traces[i], count, sum);
                if (keep(next[place->second], sum, traces_.size()))
                    traces_.push_back({state.traces[i], &known.ways[w]});
            }
        }
    }
    if (next.empty()) return fail(*problem);
    if (next.size() > most_states) {
        std::vector<std::pair<LayoutPrice, std::size_t>> order;
        for (std::size_t i = 0; i < next.size(); ++i) order.emplace_back(best(next[i]), i);
        std::sort(order.begin(), order.end());
        std::vector<State> first;
        for (std::size_t i = 0; i < most_states; ++i) first.push_back(std::move(next[order[i].second]));
        next = std::move(first);
    }
    const std::size_t kept = std::max(most_rows / next.size(), fewest_kept);
    for (State& state : next) {
        if (state.traces.size() > kept) trim(state, kept);
    }
    live_ = live;
    states_ = std::move(next);
    return {};
}

Result<ProgramLayout> LayoutSearch::choose(const Sizes& sizes) {
    sizes_ = sizes;
    std::vector<std::string> dims;
    for (const CompiledOp& op : ops_) dims.insert(dims.end(), op.ways.symbols().begin(), op.ways.symbols().end());
    const Sizes known = comparable_sizes(sizes, dims);
    for (CompiledOp& op : ops_) op.ways.set_sizes(known);
    reshardings_->set_sizes(known);
    live_.clear();
    shardings_.clear();
    hashes_.clear();
    known_.assign(ops_.size(), {});
    traces_.assign(1, Trace{});
    states_.assign(1, State{{}, std::vector<double>(costs_->width(), 0.0), {0}, {0}});
    for (std::size_t i = 0; i < ops_.size(); ++i) {
        if (auto status = step(i); !status) return fail(status.error());
    }
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
        layout.choices[i].way = *traces_[trace].way;
    }
    for (const auto& fixed : fixed_) layout.held.push_back(fixed.value_or(Sharding{}));
    for (std::size_t i = 0; i < ops_.size(); ++i) {
        ProgramLayout::Choice& choice = layout.choices[i];
        const Op& op = ops_[i].ways.op();
        for (const Operand& input : op.inputs) choice.held.push_back(layout.held[input.value]);
        if (fixed_[op.output.value]) choice.wanted = fixed_[op.output.value];
        if (!choice.wanted && ops_[i].lies_as) choice.wanted = layout.held[*ops_[i].lies_as];
        if (!fixed_[op.output.value]) layout.held[op.output.value] = choice.way.output;
    }
    return layout;
}

Result<std::vector<Way>> LayoutSearch::ways(std::size_t op, const ProgramLayout& layout) {
    const ProgramLayout::Choice& choice = layout.choices[op];
    auto ways =
        ops_[op].ways.ways({choice.held, choice.wanted, ops_[op].elsewhere, ops_[op].alone, ops_[op].open, true});
    if (!ways) return ways;
    const auto same = std::find_if(ways->begin(), ways->end(), [&](const Way& way) {
        return way.split == choice.way.split && way.at == choice.way.at && way.output == choice.way.output;
    });
    std::rotate(ways->begin(), same, same + 1);
    return ways;
}

}  // namespace roofline
