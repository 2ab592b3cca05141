#include "measure/network/sharded_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "measure/network/agreed.hpp"
#include "measure/network/sum.hpp"
#include "measure/run/fill.hpp"
#include "measure/run/step_builder.hpp"
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

Result<std::vector<std::int64_t>> ShardedRun::sizes_of(const std::vector<std::string>& dims) const {
    std::vector<std::int64_t> sizes;
    for (const std::string& dim : dims) {
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
    if (auto status = collect(whole_.body, whole_statements_); !status) return status;
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
    keep_sums();
    values_.resize(program_.values.size());
    for (ValueId id = 0; id < values_.size(); ++id) values_[id].held = HeldShard{layout_.held[id]};
    if (auto status = fill_inputs(); !status) return status;
    std::size_t index = 0;
    for (std::size_t statement = 0; statement < statements_.size(); ++statement) {
        for (std::size_t op = 0; op < statements_[statement]->ops.size(); ++op) {
            if (auto status = add_op(index++, statement); !status) return status;
        }
    }
    return pack();
}

// What is made inside of a statement and not exchanged is not rounded: it stays as sums are accumulated, as where nothing is split.
void ShardedRun::keep_sums() {
    computed_ = program_;
    std::set<ValueId> exchanged;
    const auto each_op = [&](const auto& visit) {
        for (std::size_t index = 0; index < layout_.choices.size(); ++index) visit(index, search_->op(index).op());
    };
    each_op([&](std::size_t index, const Op& op) {
        for (const TensorMove& move : layout_.choices[index].way.moves) {
            if (move.tensor < op.inputs.size()) exchanged.insert(op.inputs[move.tensor].value);
            if (move.tensor == op.inputs.size()) exchanged.insert(op.output.value);
        }
    });
    each_op([&](std::size_t /*index*/, const Op& op) {
        Value& made = computed_.values[op.output.value];
        if (!made.intermediate || exchanged.contains(op.output.value)) return;
        if (info(made.type.dtype).kind == DtypeKind::floating) made.type.dtype = sums_in(op.arithmetic);
    });
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
        const HeldShard held = values_[id].held;
        const Sharding& lies = held.lies;
        const std::size_t element = static_cast<std::size_t>(info(shape.dtype).bits) / 8;
        auto move = ShardMove::make(ranks_, {held, held, std::nullopt, shape.sizes, shape.dtype});
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

// The reshardings of a tensor of an operation: none, one, or for the statistics of rows one a round.
std::vector<const TensorMove*> ShardedRun::moves_of(std::size_t index, std::size_t tensor) const {
    std::vector<const TensorMove*> moves;
    for (const TensorMove& each : layout_.choices[index].way.moves) {
        if (each.tensor == tensor) moves.push_back(&each);
    }
    return moves;
}

Result<ShardedRun::Array> ShardedRun::array_of(std::size_t index, std::size_t tensor) const {
    const OpWays& ways = search_->op(index);
    const Op& op = ways.op();
    auto sizes = sizes_of(ways.moved_dims(tensor));
    if (!sizes) return fail(sizes.error());
    const bool statistics = tensor > op.inputs.size();
    const Operand& operand = tensor < op.inputs.size() ? op.inputs[tensor] : op.output;
    const Dtype dtype = statistics ? statistics_dtype(op) : computed_.values[operand.value].type.dtype;
    return Array{ways.tensor_name(tensor), std::move(*sizes), dtype, Reduction::sum};
}

Status ShardedRun::add_op(std::size_t index, std::size_t statement) {
    at_ = {index, statement};
    overlapped_.emplace_back();
    const OpWays& ways = search_->op(index);
    const Way& way = layout_.choices[index].way;
    const Op& op = ways.op();
    const std::size_t result = op.inputs.size();
    const std::vector<const TensorMove*> after = moves_of(index, result);
    const bool moves = op.kind == OpKind::move && after.empty();
    std::vector<const void*> inputs;
    std::vector<TensorSteps> tensors(result + 1);
    for (std::size_t i = 0; i < result; ++i) {
        auto place = bring(i, moves ? HeldShard{way.output} : held_by_way(ways, way, i), tensors[i]);
        if (!place) return fail(place.error());
        inputs.push_back(place->memory);
    }
    Place made{nullptr, moves ? HeldShard{way.output} : held_by_way(ways, way, result)};
    auto array = array_of(index, result);
    if (!array) return fail(array.error());
    const std::vector<const TensorMove*> statistics = moves_of(index, result + 1);
    const Value& from = computed_.values[op.inputs.empty() ? op.output.value : op.inputs.front().value];
    bool in_pieces = op.kind != OpKind::move && statistics.empty();
    if (moves && from.type.dtype == array->dtype) {
        made.memory = const_cast<void*>(inputs.front());  // only where it lies has changed
    } else if (!statistics.empty()) {
        if (auto status = add_rows(statistics, std::move(inputs), *array, made); !status) return status;
    } else {
        auto share = share_of_op(computed_, ways, way, system_, ranks_.chip());
        if (!share) return fail(share.error());
        if (auto status = add_local(std::move(*share), inputs, *array, made); !status) return status;
        in_pieces = in_pieces && stages_.back().output_bytes > 0;
    }
    // of a band of a window chips keep what they see, and nobody has the rest
    const HeldShard to = after.empty() && made.held.edged() ? made.held : HeldShard{way.output};
    auto place = reshard(*array, after.empty() ? nullptr : &search_->resharding(after.front()->resharding), made, to,
                         tensors.back());
    if (!place) return fail(place.error());
    values_[op.output.value] = *place;
    tensors.back().memory = place->memory;
    return in_pieces ? add_overlapped(index, std::move(tensors)) : Status{};
}

// An operand as the operation wants it. What one before has been brought there is there, as the layout has it.
Result<ShardedRun::Place> ShardedRun::bring(std::size_t operand, const HeldShard& wanted, TensorSteps& taken) {
    const ValueId value = search_->op(at_.op).op().inputs[operand].value;
    const std::vector<const TensorMove*> moves = moves_of(at_.op, operand);
    const auto key = std::pair(value, moves.empty() ? std::size_t{0} : moves.front()->resharding);
    const auto known = brought_.find(key);
    if (!moves.empty() && known != brought_.end() && search_->done_before(at_.op, *moves.front(), layout_)) {
        overlapped_[known->second.op].reset();  // in pieces it is never there whole
        taken.held = known->second.place.held;
        taken.memory = known->second.place.memory;
        return known->second.place;
    }
    auto array = array_of(at_.op, operand);
    if (!array) return fail(array.error());
    auto place = reshard(*array, moves.empty() ? nullptr : &search_->resharding(moves.front()->resharding),
                         values_[value], wanted, taken);
    if (place && !moves.empty()) brought_.insert_or_assign(key, Brought{at_.op, *place});
    return place;
}

Status ShardedRun::add_overlapped(std::size_t index, std::vector<TensorSteps> tensors) {
    auto op = OverlappedOp::make(computed_, search_->op(index), layout_.choices[index].way, ranks_, device_,
                                 std::move(tensors));
    if (!op) return fail(op.error());
    overlapped_[index] = std::move(*op);
    return {};
}

// Numbers of the rows of this rank's part, reduced by all of them, round by round; then the result from the part and these.
Status ShardedRun::add_rows(const std::vector<const TensorMove*>& moves, std::vector<const void*> inputs,
                            const Array& result, Place& made) {
    const OpWays& ways = search_->op(at_.op);
    const Way& way = layout_.choices[at_.op].way;
    auto parts = row_parts(computed_, ways, way, system_, ranks_.chip());
    if (!parts) return fail(parts.error());
    // all the numbers of a round are one array, whose first dimension is which of them
    const auto numbered = [](const Sharding& rows) {
        Sharding all = rows;
        std::copy_backward(rows.dims.begin(), rows.dims.begin() + rows.rank, all.dims.begin() + rows.rank + 1);
        all.dims[0] = {};
        ++all.rank;
        return all;
    };
    for (std::size_t i = 0; i < parts->rounds.size(); ++i) {
        RowParts::Round& round = parts->rounds[i];
        auto array = array_of(at_.op, ways.op().inputs.size() + 1);
        if (!array) return fail(array.error());
        array->sizes.insert(array->sizes.begin(), static_cast<std::int64_t>(round.numbers.size()));
        array->reduction = round.reduction;
        Place part{nullptr, HeldShard{numbered(ways.part_statistics(way))}};
        const std::size_t each = bytes_of(*array, part.held) / round.numbers.size();
        auto memory = allocate(each * round.numbers.size());
        if (!memory) return fail(memory.error());
        part.memory = *memory;
        for (std::size_t n = 0; n < round.numbers.size(); ++n) {
            auto* at = static_cast<std::byte*>(part.memory) + n * each;
            if (auto status = add_stage(std::move(round.numbers[n]), inputs, at, each); !status) return status;
        }
        Resharding resharding = search_->resharding(moves[i]->resharding);
        for (ShardingStep& step : resharding.steps) step.to = numbered(step.to);
        TensorSteps taken;
        auto whole = reshard(*array, &resharding, part, HeldShard{resharding.steps.back().to}, taken);
        if (!whole) return fail(whole.error());
        for (std::size_t n = 0; n < round.numbers.size(); ++n) {
            inputs.push_back(static_cast<std::byte*>(whole->memory) + n * each);
        }
    }
    return add_local(std::move(parts->last), inputs, result, made);
}

std::size_t ShardedRun::bytes_of(const Array& array, const HeldShard& held) const {
    return box_of(held, array.sizes, system_, ranks_.chip()).elements() *
           static_cast<std::size_t>(info(array.dtype).bits) / 8;
}

Status ShardedRun::add_local(OpShare share, const std::vector<const void*>& inputs, const Array& array, Place& made) {
    const std::size_t bytes = bytes_of(array, made.held);
    auto memory = allocate(bytes);
    if (!memory) return fail(memory.error());
    if (auto status = add_stage(std::move(share), inputs, *memory, bytes); !status) return status;
    made.memory = stages_.back().output;
    return {};
}

Status ShardedRun::add_stage(OpShare share, const std::vector<const void*>& inputs, void* output, std::size_t bytes) {
    auto local = LocalOp::make(std::move(share), device_);
    if (!local) return fail(local.error());
    locals_.push_back(std::move(*local));
    ShardedStage stage;
    stage.text = locals_.back()->text();
    stage.op = at_.op;
    stage.statement = at_.statement;
    const std::int64_t place = layout_.choices[at_.op].way.at;
    const bool mine = place == Sharding::everywhere || place == ranks_.chip();
    stage.local = mine ? locals_.back().get() : nullptr;
    stage.inputs = inputs;
    stage.output = output;
    stage.output_bytes = bytes;
    if (const auto in_place = locals_.back()->writes_into()) {
        stage.output = const_cast<void*>(inputs[*in_place]);
        stage.output_bytes = 0;
    }
    stages_.push_back(std::move(stage));
    return {};
}

// One step of a resharding, as a stage.
Result<ShardedRun::Place> ShardedRun::step(const Array& array, const Place& from, const HeldShard& to,
                                           const std::optional<Move>& how, TensorSteps& taken) {
    taken.steps.push_back({from.held, to, how, array.sizes, array.dtype, array.reduction});
    auto move = ShardMove::make(ranks_, taken.steps.back());
    if (!move) return fail(move.error());
    auto memory = allocate(move->bytes_after());
    if (!memory) return fail(memory.error());
    moves_.push_back(std::make_unique<ShardMove>(std::move(*move)));
    ShardedStage stage;
    stage.text = how ? move_text(*how, array.name, system_) : "a share of " + array.name;
    stage.exchange = how.has_value();
    stage.op = at_.op;
    stage.statement = at_.statement;
    stage.move = moves_.back().get();
    stage.inputs = {from.memory};
    stage.output = *memory;
    stages_.push_back(std::move(stage));
    const bool sums = how && (how->kind == CollectiveKind::all_reduce || how->kind == CollectiveKind::reduce_scatter);
    if (array.reduction == Reduction::sum && (sums || (how && how->back))) {
        // each partial sum is rounded once, and so is each sum of two; they are about as large as the whole
        allowed_error_ += 4 * static_cast<double>(chips_across(system_, how->axes)) * rounding(array.dtype);
    }
    return Place{*memory, to};
}

// The steps of a tensor's resharding, as the search took them; a mere slice is not written down there.
Result<ShardedRun::Place> ShardedRun::reshard(const Array& array, const Resharding* resharding, Place from,
                                              const HeldShard& to, TensorSteps& taken) {
    taken.held = from.held;
    taken.memory = from.memory;
    taken.fixed = fixed_.contains(from.memory);
    const std::size_t count = resharding == nullptr ? 0 : resharding->steps.size();
    for (std::size_t i = 0; i <= count; ++i) {
        std::optional<Move> how;
        HeldShard next = to;
        if (i < count) {
            const ShardingStep& taken_step = resharding->steps[i];
            if (taken_step.move) how = resharding->moves[*taken_step.move];
            if (!how || how->hops == 0 || how->back) next = HeldShard{taken_step.to};
        }
        if (from.held == next) continue;
        if (from.held.edged() && !(how && how->back)) {
            if (from.held.lies.unreduced == 0) {
                return fail("unsupported",
                            fmt::format("{} is a band of a window, of which each rank has what its rows see, and a "
                                        "statement wants it otherwise",
                                        array.name),
                            "split rows and columns alike in all statements between the mask and the product");
            }
            // sums of what a rank does not see are none
            HeldShard wide = from.held.without_edge();
            wide.lies.dims[from.held.dim] = {};
            auto place = step(array, from, wide, std::nullopt, taken);
            if (!place) return place;
            from = *place;
            if (from.held == next) continue;
        }
        auto place = step(array, from, next, how, taken);
        if (!place) return place;
        from = *place;
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

Status ShardedStage::run() const {
    if (local != nullptr) return local->run(inputs, output);
    if (move == nullptr) return {};
    return move->run(static_cast<const std::byte*>(inputs.front()), static_cast<std::byte*>(output));
}

Status ShardedRun::run(bool overlapped) {
    std::optional<std::size_t> done;  // an operation with all its stages
    for (const ShardedStage& stage : stages_) {
        if (done == stage.op) continue;
        OverlappedOp* pieces = overlapped ? overlapped_[stage.op].get() : nullptr;
        if (pieces != nullptr) done = stage.op;
        if (auto status = pieces != nullptr ? pieces->run() : stage.run(); !status) return status;
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

}  // namespace roofline
