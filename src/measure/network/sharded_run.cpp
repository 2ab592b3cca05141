#include "measure/network/sharded_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "measure/network/all_ranks.hpp"
#include "measure/network/sum.hpp"
#include "measure/run/fill.hpp"
#include "measure/run/step_builder.hpp"
#include "measure/sample_watch.hpp"
#include "measure/stop.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// Collects statements in the order of the text, as stages count them.
void collect(const Block& block, std::vector<const Statement*>& statements) {
    for (const Node& node : block.nodes) {
        if (const auto* statement = std::get_if<Statement>(&node)) {
            statements.push_back(statement);
        } else {
            collect(std::get<Block>(node), statements);
        }
    }
}

}  // namespace

Result<std::unique_ptr<ShardedRun>> ShardedRun::make(const Program& program, const System& system, Communicator& world,
                                                     Device& device) {
    std::unique_ptr<ShardedRun> run(
        new ShardedRun(program, system, std::make_shared<MeshRanks>(world, system), device));
    ROOFLINE_CHECK(common_status(world, run->prepare(nullptr)));
    return run;
}

Result<std::unique_ptr<ShardedRun>> ShardedRun::again(ShardedRun& first) {
    std::unique_ptr<ShardedRun> run(new ShardedRun(first.program_, first.system_, first.mesh_, first.device_));
    ROOFLINE_CHECK(common_status(first.ranks_.world(), run->prepare(&first)));
    return run;
}

ShardedRun::~ShardedRun() {
    overlapped_.clear();
    shared_.clear();
    locals_.clear();
    for (void* memory : memory_) device_.release(memory);
}

Result<void*> ShardedRun::allocate(std::size_t bytes) {
    ROOFLINE_TRY(auto memory, device_.allocate(std::max<std::size_t>(bytes, 1)));
    memory_.push_back(memory);
    bytes_ += bytes;
    std::memset(memory, 0, bytes);
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

// The first rank holds all arrays whole to check them; the shards of all ranks and the buffers take the same amount
// once or twice more.
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

// Chooses the sharding before anything is allocated.
Status ShardedRun::choose() {
    ROOFLINE_CHECK(check_memory());
    ROOFLINE_TRY(auto search, LayoutSearch::compile(program_, system_, {}, LayoutFreedom::as_written));
    ROOFLINE_TRY(auto layout, search.choose(program_.sizes));
    search_ = std::make_shared<LayoutSearch>(std::move(search));
    layout_ = std::move(layout);
    return {};
}

Status ShardedRun::prepare(const ShardedRun* first) {
    for (const Value& value : program_.values) {
        if (value.level == "hbm") continue;
        return fail("unsupported",
                    fmt::format("`{}` is in {}, but ranks have a single memory", value.name, value.level),
                    "remove `in`");
    }
    whole_ = unsplit(program_);
    collect(whole_.body, whole_statements_);
    ROOFLINE_TRY(plan_, make_steps(whole_));
    if (first != nullptr) {
        search_ = first->search_;
        layout_ = first->layout_;
    } else
        ROOFLINE_CHECK(choose());
    keep_sums();
    values_.resize(program_.values.size());
    for (ValueId id = 0; id < values_.size(); ++id) values_[id].held = HeldShard{layout_.held[id]};
    ROOFLINE_CHECK(fill_inputs(first));
    by_pass_ = values_by_pass(program_);
    read_.resize(whole_statements_.size());
    shared_.resize(layout_.choices.size());
    std::size_t statement = 0;
    std::size_t index = 0;
    ROOFLINE_CHECK(add_block(program_.body, statement, index));
    return pack();
}

// Values made inside a statement and not exchanged are not rounded: they keep the dtype of accumulation, as in an
// unsharded program.
void ShardedRun::keep_sums() {
    computed_ = program_;
    std::set<ValueId> exchanged;
    const auto each_op = [&](const auto& visit) {
        for (std::size_t index = 0; index < layout_.choices.size(); ++index) visit(index, search_->op(index).op());
    };
    each_op([&](std::size_t index, const Op& op) {
        for (const TensorMove& move : layout_.choices[index].strategy.moves) {
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

// Fills this rank's shards of the program's inputs; an input declared in a repeat has one copy per iteration.
Status ShardedRun::fill_inputs(const ShardedRun* first) {
    inputs_.resize(values_.size());
    for (ValueId id = 0; id < values_.size(); ++id) {
        const auto array = plan_.array_of[id];
        if (!array || plan_.arrays[*array].role != RunArray::Role::input) continue;
        if (plan_.arrays[*array].value != id) continue;  // written in place
        const RunArray& shape = plan_.arrays[*array];
        const HeldShard held = values_[id].held;
        ROOFLINE_TRY(auto move, ShardMove::make(ranks_, {held, held, std::nullopt, shape.sizes, shape.dtype}));
        for (std::int64_t copy = 0; copy < shape.copies; ++copy) {
            if (stop_requested()) return fail(interrupted());
            ROOFLINE_TRY(auto memory, allocate(move.bytes_after()));
            inputs_[id].push_back(memory);
            fixed_.insert(memory);
            if (first != nullptr) {
                std::memcpy(memory, first->inputs_[id][static_cast<std::size_t>(copy)], move.bytes_after());
            } else
                ROOFLINE_CHECK(fill_input(id, copy, memory));
        }
    }
    place_inputs();
    return {};
}

// Every rank makes the same whole arrays, one after the other. For an array that is still to be summed, one member of
// each group holds the numbers.
Status ShardedRun::fill_input(ValueId value, std::int64_t copy, void* memory) {
    const RunArray& shape = plan_.arrays[*plan_.array_of[value]];
    const Sharding& lies = values_[value].held.lies;
    for (std::size_t axis = 0; axis < system_.mesh.size(); ++axis) {
        if ((lies.unreduced >> axis & 1U) != 0 && coordinate(system_, ranks_.chip(), axis) != 0) return {};
    }
    std::vector<char> bytes(static_cast<std::size_t>(shape.bytes()), 0);
    fill_array(shape, copy, needs_positive_inputs(whole_), bytes.data());
    const Box box = box_of(lies, shape.sizes, system_, ranks_.chip());
    const Box all{std::vector<std::int64_t>(shape.sizes.size(), 0), shape.sizes};
    copy_part(static_cast<std::byte*>(memory), box, reinterpret_cast<const std::byte*>(bytes.data()), all, box,
              static_cast<std::size_t>(info(shape.dtype).bits) / 8);
    return {};
}

// Index of the copy for the current iteration, for values with one copy per iteration.
std::size_t ShardedRun::copy_of(ValueId value) const {
    const RunArray& array = plan_.arrays[*plan_.array_of[value]];
    std::size_t copy = 0;
    for (std::size_t i = 0; array.copies > 1 && i < array.depth && i < frames_.size(); ++i) {
        copy = copy * static_cast<std::size_t>(frames_[i].count) + static_cast<std::size_t>(frames_[i].index);
    }
    return copy;
}

// Sets the memory of the current iteration's inputs, and of what an earlier repeat has made in the same iteration.
void ShardedRun::place_inputs() {
    for (ValueId id = 0; id < values_.size(); ++id) {
        if (inputs_[id].empty() || handed_on_.contains(id)) continue;
        values_[id] = {inputs_[id][copy_of(id)], HeldShard{layout_.held[id]}};
    }
    for (const auto& [id, made] : made_by_pass_) {
        if (!frames_.empty() && copy_of(id) < made.size()) values_[id] = made[copy_of(id)];
    }
}

// Packs weights once, before anything is timed, because they do not change.
Status ShardedRun::pack() {
    for (ShardedStage& stage : stages_) {
        if (stage.local == nullptr) continue;
        std::vector<const void*> inputs = stage.inputs;
        for (const void*& input : inputs) {
            if (!fixed_.contains(input)) input = nullptr;
        }
        ROOFLINE_CHECK(stage.local->pack(inputs));
    }
    return {};
}

Status ShardedStage::run() const {
    if (local != nullptr) return local->run(inputs, output);
    if (move == nullptr) return {};
    return move->run(static_cast<const std::byte*>(inputs.front()), static_cast<std::byte*>(output));
}

Status ShardedRun::run(bool overlapped) {
    std::optional<std::size_t> done;  // an operation whose stages are all done
    for (const ShardedStage& stage : stages_) {
        if (done == stage.op) continue;
        OverlappedOp* pieces = overlapped && !stage.beside ? overlapped_[stage.op].get() : nullptr;
        if (pieces != nullptr) done = stage.op;
        ROOFLINE_CHECK(pieces != nullptr ? pieces->run() : stage.run());
    }
    return {};
}

int ShardedRun::pieces() const {
    int most = 1;
    for (const auto& op : overlapped_) most = std::max(most, op == nullptr ? 1 : op->pieces());
    return most;
}

void ShardedRun::invalidate_results() {
    for (const ShardedStage& stage : stages_) {
        const std::size_t bytes = stage.move != nullptr ? stage.move->bytes_after() : stage.output_bytes;
        std::memset(stage.output, 0xff, bytes);
    }
}

}  // namespace roofline::core
