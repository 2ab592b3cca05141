#include "measure/network/sharded_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "measure/network/agreed.hpp"
#include "measure/network/sum.hpp"
#include "measure/run/fill.hpp"
#include "measure/sample_watch.hpp"
#include "measure/stop.hpp"
#include "units/text.hpp"

namespace roofline {

namespace {

// In the order of the layout's operations. Errors: a block that repeats.
Status collect(const Block& block, std::vector<const Statement*>& statements) {
    for (const Node& node : block.nodes) {
        if (const auto* statement = std::get_if<Statement>(&node)) {
            statements.push_back(statement);
            continue;
        }
        const Block& inner = std::get<Block>(node);
        if (inner.kind == Block::Kind::repeat) {
            return fail("unsupported", "a repeat is not run over ranks", "run one pass of it");
        }
        if (auto status = collect(inner, statements); !status) return status;
    }
    return {};
}

// How an operand must lie for the share of the work that a chip does.
Sharding operand_sharding(const OpWays& ways, const Way& way, const Operand& operand) {
    Sharding sharding;
    sharding.rank = static_cast<std::uint8_t>(operand.dims.size());
    sharding.at = way.at;
    for (std::size_t d = 0; d < operand.dims.size(); ++d) {
        const auto place = std::find(ways.dims().begin(), ways.dims().end(), operand.dims[d]) - ways.dims().begin();
        sharding.dims[d] = way.split[static_cast<std::size_t>(place)];
    }
    return sharding;
}

// How the result lies when it has been made: partial sums where a dimension that it lacks is split.
Sharding made_sharding(const OpWays& ways, const Way& way) {
    const Operand& output = ways.op().output;
    Sharding made = operand_sharding(ways, way, output);
    for (std::size_t d = 0; d < ways.dims().size(); ++d) {
        if (!has(output.dims, ways.dims()[d])) {
            made.unreduced = static_cast<AxisMask>(made.unreduced | way.split[d].mask());
        }
    }
    return made;
}

std::string move_text(const Move& move, const std::string& tensor, const System& system) {
    return fmt::format("{} {}{}", collective_name(move.kind, true), tensor,
                       route_text(message_of(move.route(), move.axes, system), ""));
}

// Half a unit in the last place, relative.
double rounding(Dtype dtype) {
    return dtype == Dtype::bf16 ? 0x1p-9 : dtype == Dtype::f16 ? 0x1p-12 : dtype == Dtype::f32 ? 0x1p-25 : 0;
}

}  // namespace

Result<std::unique_ptr<ShardedRun>> ShardedRun::make(const Program& program, const System& system, Communicator& world,
                                                     Device& device) {
    std::unique_ptr<ShardedRun> run(new ShardedRun(program, system, world, device));
    if (auto status = agreed(world, run->prepare()); !status) return fail(status.error());
    return run;
}

ShardedRun::~ShardedRun() {
    overlapped_.clear();
    locals_.clear();
    for (void* memory : memory_) device_.release(memory);
}

Result<void*> ShardedRun::allocate(std::size_t bytes) {
    auto memory = device_.allocate(std::max<std::size_t>(bytes, 1));
    if (!memory) return memory;
    memory_.push_back(*memory);
    std::memset(*memory, 0, bytes);
    return memory;
}

Result<std::vector<std::int64_t>> ShardedRun::sizes_of(const Operand& operand) const {
    std::vector<std::int64_t> sizes;
    for (const std::string& dim : operand.dims) {
        const auto size = size_of(program_, dim);
        if (!size) return fail("no_size", fmt::format("`{}` has no size", dim), fmt::format("--dims {}=1024", dim));
        sizes.push_back(*size);
    }
    return sizes;
}

// The first rank has all arrays whole to check them; the shards of all ranks, and what is on its way, are as much again or twice.
Status ShardedRun::check_memory() const {
    double bytes = 0;
    for (const RunArray& array : plan_.arrays) {
        bytes += static_cast<double>(array.bytes()) * static_cast<double>(array.copies);
    }
    const double needed = 4 * bytes;
    const auto free = static_cast<double>(device_.memory_free());
    if (needed <= 0.9 * free) return {};
    return fail("too_large",
                fmt::format("the program needs {} of memory over all ranks, and {} are free", to_text(Bytes{needed}),
                            to_text(Bytes{free})),
                "choose smaller sizes, or free memory; a tenth is left to the system");
}

Status ShardedRun::prepare() {
    if (auto status = collect(program_.body, statements_); !status) return status;
    for (const Value& value : program_.values) {
        if (value.level == "hbm") continue;
        return fail("unsupported", fmt::format("`{}` lies in {}, and ranks have one memory", value.name, value.level),
                    "leave `in` out");
    }
    whole_ = unsplit(program_);
    auto plan = make_steps(whole_);
    if (!plan) return fail(plan.error());
    plan_ = std::move(*plan);
    if (auto status = check_memory(); !status) return status;
    auto search = LayoutSearch::compile(program_, system_);
    if (!search) return fail(search.error());
    auto layout = search->choose(program_.sizes);
    if (!layout) return fail(layout.error());
    search_.emplace(std::move(*search));
    layout_ = std::move(*layout);
    values_.resize(program_.values.size());
    for (ValueId id = 0; id < values_.size(); ++id) values_[id].lies = layout_.held[id];
    if (auto status = fill_inputs(); !status) return status;
    std::size_t index = 0;
    for (std::size_t statement = 0; statement < statements_.size(); ++statement) {
        for (std::size_t op = 0; op < statements_[statement]->ops.size(); ++op) {
            if (auto status = add_op(index++, statement); !status) return status;
        }
    }
    return pack();
}

// This rank's shards of what the program declares: every rank makes the same whole arrays, one after the other. Of an array that
// is still to be summed one member of each group has the numbers.
Status ShardedRun::fill_inputs() {
    const bool positive = wants_positive(whole_);
    std::vector<char> bytes;
    for (ValueId id = 0; id < values_.size(); ++id) {
        const auto array = plan_.array_of[id];
        if (!array || plan_.arrays[*array].role != RunArray::Role::input) continue;
        if (stop_requested()) return fail(interrupted());
        const RunArray& shape = plan_.arrays[*array];
        const Sharding& lies = values_[id].lies;
        const std::size_t element = static_cast<std::size_t>(info(shape.dtype).bits) / 8;
        auto move = ShardMove::make(ranks_, {lies, lies, std::nullopt, shape.sizes, shape.dtype});
        if (!move) return fail(move.error());
        const Box box = box_of(lies, shape.sizes, system_, ranks_.chip());
        auto memory = allocate(box.elements() * element);
        if (!memory) return fail(memory.error());
        values_[id].memory = *memory;
        fixed_.insert(*memory);
        bool holds = true;
        for (std::size_t axis = 0; axis < system_.mesh.size(); ++axis) {
            if ((lies.unreduced >> axis & 1U) != 0 && coordinate(system_, ranks_.chip(), axis) != 0) holds = false;
        }
        if (!holds) continue;
        bytes.assign(static_cast<std::size_t>(shape.bytes()), 0);
        fill_array(shape, 0, positive, bytes.data());
        const Box all{std::vector<std::int64_t>(shape.sizes.size(), 0), shape.sizes};
        copy_part(static_cast<std::byte*>(*memory), box, reinterpret_cast<const std::byte*>(bytes.data()), all, box,
                  element);
    }
    return {};
}

Status ShardedRun::add_op(std::size_t index, std::size_t statement) {
    const OpWays& ways = search_->op(index);
    const ProgramLayout::Choice& choice = layout_.choices[index];
    const Op& op = ways.op();
    const bool converted_first = std::any_of(choice.way.moves.begin(), choice.way.moves.end(),
                                             [&](const TensorMove& each) { return each.tensor == op.inputs.size(); });
    const bool moves = op.kind == OpKind::move && !converted_first;
    std::vector<const void*> inputs;
    std::vector<TensorSteps> tensors(op.inputs.size() + 1);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        const Sharding to = moves ? choice.way.output : operand_sharding(ways, choice.way, op.inputs[i]);
        const Place from{values_[op.inputs[i].value].memory, choice.held[i]};
        auto place = reshard(i, from, to, index, statement, tensors[i]);
        if (!place) return fail(place.error());
        inputs.push_back(place->memory);
    }
    Place made{nullptr, moves ? choice.way.output : made_sharding(ways, choice.way)};
    const Value& from = program_.values[op.inputs.empty() ? op.output.value : op.inputs.front().value];
    if (moves && from.type.dtype == program_.values[op.output.value].type.dtype) {
        made.memory = const_cast<void*>(inputs.front());  // only where it lies has changed
    } else if (auto status = add_local(ways, choice.way, inputs, made, index, statement); !status) {
        return status;
    }
    auto place = reshard(op.inputs.size(), made, choice.way.output, index, statement, tensors.back());
    if (!place) return fail(place.error());
    values_[op.output.value] = *place;
    tensors.back().memory = place->memory;
    if (op.kind == OpKind::move) tensors.clear();
    return add_overlapped(index, std::move(tensors));
}

Status ShardedRun::add_overlapped(std::size_t index, std::vector<TensorSteps> tensors) {
    overlapped_.emplace_back();
    if (tensors.empty()) return {};
    auto op = OverlappedOp::make(program_, search_->op(index), layout_.choices[index].way, ranks_, device_,
                                 std::move(tensors));
    if (!op) return fail(op.error());
    overlapped_.back() = std::move(*op);
    return {};
}

Status ShardedRun::add_local(const OpWays& ways, const Way& way, const std::vector<const void*>& inputs, Place& made,
                             std::size_t index, std::size_t statement) {
    const Op& op = ways.op();
    auto sizes = sizes_of(op.output);
    if (!sizes) return fail(sizes.error());
    auto share = share_of_op(program_, ways, way, system_);
    if (!share) return fail(share.error());
    const Dtype dtype = program_.values[op.output.value].type.dtype;
    const std::size_t bytes =
        box_of(made.lies, *sizes, system_, ranks_.chip()).elements() * static_cast<std::size_t>(info(dtype).bits) / 8;
    auto memory = allocate(bytes);
    if (!memory) return fail(memory.error());
    made.memory = *memory;
    auto local = LocalOp::make(std::move(*share), device_);
    if (!local) return fail(local.error());
    locals_.push_back(std::move(*local));
    ShardedStage stage;
    stage.text = locals_.back()->text();
    stage.op = index;
    stage.statement = statement;
    const bool mine = way.at == Sharding::everywhere || way.at == ranks_.chip();
    stage.local = mine ? locals_.back().get() : nullptr;
    stage.inputs = inputs;
    stage.output = *memory;
    stage.output_bytes = bytes;
    stages_.push_back(std::move(stage));
    return {};
}

// The steps of a tensor's resharding, as the search took them; a mere slice is not written down there.
Result<ShardedRun::Place> ShardedRun::reshard(std::size_t tensor, Place from, const Sharding& to, std::size_t index,
                                              std::size_t statement, TensorSteps& taken) {
    const OpWays& ways = search_->op(index);
    const Way& way = layout_.choices[index].way;
    const Op& op = ways.op();
    taken.held = from.lies;
    taken.memory = from.memory;
    taken.fixed = fixed_.contains(from.memory);
    const Operand& operand = tensor < op.inputs.size() ? op.inputs[tensor] : op.output;
    auto sizes = sizes_of(operand);
    if (!sizes) return fail(sizes.error());
    const Dtype dtype = program_.values[operand.value].type.dtype;
    std::vector<ShardingStep> steps;
    const Resharding* resharding = nullptr;
    for (const TensorMove& each : way.moves) {
        if (each.tensor == tensor) resharding = &search_->resharding(each.resharding);
    }
    if (resharding != nullptr) {
        steps = resharding->steps;
    } else if (from.lies != to) {
        steps.push_back({to, std::nullopt});
    }
    for (const ShardingStep& step : steps) {
        std::optional<Move> how;
        if (step.move) how = resharding->moves[*step.move];
        taken.steps.push_back({from.lies, step.to, how, *sizes, dtype});
        auto move = ShardMove::make(ranks_, taken.steps.back());
        if (!move) return fail(move.error());
        auto memory = allocate(move->bytes_after());
        if (!memory) return fail(memory.error());
        moves_.push_back(std::make_unique<ShardMove>(std::move(*move)));
        ShardedStage stage;
        stage.text =
            how ? move_text(*how, ways.tensor_name(tensor), system_) : "a share of " + ways.tensor_name(tensor);
        stage.exchange = how.has_value();
        stage.op = index;
        stage.statement = statement;
        stage.move = moves_.back().get();
        stage.inputs = {from.memory};
        stage.output = *memory;
        stages_.push_back(std::move(stage));
        if (how && (how->kind == CollectiveKind::all_reduce || how->kind == CollectiveKind::reduce_scatter)) {
            // each partial sum is rounded once, and so is each sum of two; they are about as large as the whole
            allowed_error_ += 4 * static_cast<double>(chips_across(system_, how->axes)) * rounding(dtype);
        }
        from = {*memory, step.to};
    }
    return from;
}

// Weights stay as they are: they are laid out anew once, before anything is timed.
Status ShardedRun::pack() {
    for (ShardedStage& stage : stages_) {
        if (stage.local == nullptr) continue;
        std::vector<const void*> inputs = stage.inputs;
        for (const void*& input : inputs) {
            if (!fixed_.contains(input)) input = nullptr;
        }
        if (auto status = stage.local->pack(inputs); !status) return status;
    }
    return {};
}

namespace {

Status run_stage(const ShardedStage& stage) {
    if (stage.local != nullptr) return stage.local->run(stage.inputs, stage.output);
    if (stage.move == nullptr) return {};
    return stage.move->run(static_cast<const std::byte*>(stage.inputs.front()), static_cast<std::byte*>(stage.output));
}

}  // namespace

Status ShardedRun::run(bool overlapped) {
    std::optional<std::size_t> done;  // an operation with all its stages
    for (const ShardedStage& stage : stages_) {
        if (done == stage.op) continue;
        OverlappedOp* pieces = overlapped ? overlapped_[stage.op].get() : nullptr;
        if (pieces != nullptr) done = stage.op;
        if (auto status = pieces != nullptr ? pieces->run() : run_stage(stage); !status) return status;
    }
    return {};
}

int ShardedRun::pieces() const {
    int most = 1;
    for (const auto& op : overlapped_) most = std::max(most, op == nullptr ? 1 : op->pieces());
    return most;
}

void ShardedRun::forget_results() {
    for (const ShardedStage& stage : stages_) {
        const std::size_t bytes = stage.move != nullptr ? stage.move->bytes_after() : stage.output_bytes;
        std::memset(stage.output, 0xff, bytes);
    }
}

Result<Sampled> ShardedRun::time(const SamplingOptions& options, bool overlapped) {
    return agreed_samples(
        ranks_.world(),
        [&](std::int64_t calls) -> Status {
            for (std::int64_t call = 0; call < calls; ++call) {
                if (auto status = run(overlapped); !status) return status;
            }
            return {};
        },
        options);
}

// Each stage begins at all ranks at once: what one waits for the others' work is not taken for an exchange.
Result<std::vector<StageTime>> ShardedRun::time_stages(std::size_t rounds) {
    std::vector<std::vector<double>> samples(stages_.size());
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < stages_.size(); ++i) {
            if (auto status = ranks_.world().barrier(); !status) return fail(status.error());
            const double start = now_s();
            if (auto status = run_stage(stages_[i]); !status) return fail(status.error());
            auto slowest = greatest(ranks_.world(), now_s() - start);
            if (!slowest) return fail(slowest.error());
            samples[i].push_back(*slowest);
        }
    }
    std::vector<StageTime> times;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        std::sort(samples[i].begin(), samples[i].end());
        times.push_back({stages_[i].text, stages_[i].exchange, stages_[i].statement, quantile(samples[i], 0.5)});
    }
    return times;
}

// The whole array at the first rank: shards to their places; of chips that hold the same the first, of partial sums all.
Result<std::vector<char>> ShardedRun::gathered(ValueId value) {
    const RunArray& shape = plan_.arrays[*plan_.array_of[value]];
    const Place& place = values_[value];
    const std::size_t element = static_cast<std::size_t>(info(shape.dtype).bits) / 8;
    const auto held = [&](std::int64_t chip) { return box_of(place.lies, shape.sizes, system_, chip); };
    const std::int64_t holder = place.lies.at_chip() ? place.lies.at : 0;
    Communicator& world = ranks_.world();
    Exchange gather;
    gather.kind = CollectiveKind::gather;
    gather.part = held(holder).elements() * element;
    std::vector<std::byte> mine(gather.part);
    std::memcpy(mine.data(), place.memory, held(ranks_.chip()).elements() * element);
    std::vector<std::byte> all(world.rank() == 0 ? gather.part * static_cast<std::size_t>(world.size()) : 0);
    gather.in = mine.data();
    gather.out = all.data();
    if (auto status = exchange(world, gather); !status) return fail(status.error());
    std::vector<char> whole(world.rank() == 0 ? static_cast<std::size_t>(shape.bytes()) : 0);
    if (world.rank() != 0) return whole;
    const Box everything{std::vector<std::int64_t>(shape.sizes.size(), 0), shape.sizes};
    auto* to = reinterpret_cast<std::byte*>(whole.data());
    std::vector<std::byte> part(whole.size());
    const AxisMask used = place.lies.used();
    for (std::int64_t chip = 0; chip < world.size(); ++chip) {
        bool first = true;
        for (std::size_t axis = 0; axis < system_.mesh.size() && !place.lies.at_chip(); ++axis) {
            first = first && ((used >> axis & 1U) != 0 || coordinate(system_, chip, axis) == 0);
        }
        const Box box = held(chip);
        if (!first || box.elements() == 0) continue;
        const std::byte* from = all.data() + static_cast<std::size_t>(chip) * gather.part;
        if (place.lies.unreduced == 0) {
            copy_part(to, everything, from, box, box, element);
            continue;
        }
        std::fill(part.begin(), part.end(), std::byte{0});
        copy_part(part.data(), everything, from, box, box, element);
        add_into(to, part.data(), part.size(), shape.dtype);
    }
    return whole;
}

Result<CheckResult> ShardedRun::check(const CheckOptions& options) {
    std::vector<std::vector<char>> whole(values_.size());
    for (ValueId id = 0; id < values_.size(); ++id) {
        if (!plan_.array_of[id] || values_[id].memory == nullptr) continue;
        auto array = gathered(id);
        if (!array) return fail(array.error());
        whole[id] = std::move(*array);
    }
    CheckResult all;
    Status status;
    if (ranks_.world().rank() == 0) {
        const auto held = [&](ValueId id) -> HeldValue {
            if (whole[id].empty()) return {};
            return {whole[id].data(), plan_.arrays[*plan_.array_of[id]].dtype};
        };
        std::vector<const Statement*> statements;
        status = collect(whole_.body, statements);
        for (const Statement* statement : statements) {
            if (!status) break;
            auto result = check_statement(whole_, *statement, held, options);
            if (!result) {
                status = fail(result.error());
                break;
            }
            all.checked += result->checked;
            all.max_rel_error = std::max(all.max_rel_error, result->max_rel_error);
            if (result->of_bound > all.of_bound) {
                all.of_bound = result->of_bound;
                all.worst = result->worst;
            }
        }
    }
    if (auto same = agreed(ranks_.world(), status); !same) return fail(same.error());
    return all;
}

}  // namespace roofline
