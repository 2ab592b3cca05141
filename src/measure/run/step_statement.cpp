// Statements: expressions become tapes; operations that are not elementwise become steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include "measure/run/step_builder.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<std::string> together(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::vector<std::string> all = a;
    for (const std::string& dim : b) {
        if (!has(all, dim)) all.push_back(dim);
    }
    return all;
}

double mask_fill(const Program& program, ValueId value, int depth) {
    if (depth > 32) return 0;
    std::vector<const Block*> blocks{&program.body};
    while (!blocks.empty()) {
        const Block& block = *blocks.back();
        blocks.pop_back();
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                blocks.push_back(inner);
                continue;
            }
            for (const Op& op : std::get<Statement>(node).ops) {
                const bool uses = std::any_of(op.inputs.begin(), op.inputs.end(),
                                              [&](const Operand& input) { return input.value == value; });
                if (!uses) continue;
                if (op.function == "softmax" || op.function == "logsumexp" || op.function == "max") return -infinity;
                if (op.function == "min") return infinity;
                const bool passes = op.kind == OpKind::move || op.kind == OpKind::apply;
                if (passes && op.output.value != value) {
                    const double fill = mask_fill(program, op.output.value, depth + 1);
                    if (fill != 0) return fill;
                }
            }
        }
    }
    return 0;
}

}  // namespace

double causal_fill(const Program& program, ValueId value) { return mask_fill(program, value, 0); }

Dtype sums_in(Dtype arithmetic) {
    if (arithmetic == Dtype::f64) return Dtype::f64;
    return info(arithmetic).kind == DtypeKind::floating ? Dtype::f32 : Dtype::int32;
}

Status StepBuilder::statement(const Statement& statement) {
    lazy_.clear();
    made_.clear();
    for (const Op& op : statement.ops) {
        const bool last = op.output.value == statement.result;
        ROOFLINE_TRY(auto lazy, operation(op, last));
        if (last) {
            ROOFLINE_CHECK(finish(op, lazy));
        } else {
            made_[op.output.value] = lazy;
        }
    }
    return {};
}

Result<std::size_t> StepBuilder::operation(const Op& op, bool last) {
    if (op.kind == OpKind::contract) return contraction(op);
    if (op.kind == OpKind::move) return move(op);
    switch (find_function(op.function)->kind) {
        case FunctionKind::reduce:
        case FunctionKind::keep:
            return op.function == "prior" ? slide(op) : rows(op);
        case FunctionKind::slide:
            if (find_function(op.function)->state != StateUse::none) {
                return fail(
                    "unsupported", fmt::format("`{}` cannot be executed", op.function),
                    "`roofline run` keeps no state between runs: leave the state out, or price the program with "
                    "`roofline op`");
            }
            return slide(op);
        case FunctionKind::gather:
            return gather(op);
        case FunctionKind::scatter:
            return scatter(op);
        case FunctionKind::scatter_add:
            return scatter_add(op);
        case FunctionKind::correlate:
            return correlate(op);
        case FunctionKind::dispatch:
            return to_experts(op);
        case FunctionKind::combine:
        case FunctionKind::match:
            return from_experts(op);
        case FunctionKind::expand:
            return move(op);
        case FunctionKind::rearrange:
        case FunctionKind::view:
        case FunctionKind::opaque:
        case FunctionKind::receive:
            return fail("unsupported", fmt::format("`{}` cannot be executed", op.function),
                        "it says what an imported program moves, not where: `roofline op` predicts it");
        case FunctionKind::mask:
        case FunctionKind::map:
            break;
    }
    static_cast<void>(last);
    return function(op);
}

std::size_t StepBuilder::load(ArrayView view) {
    LazyValue value;
    value.op.kind = TapeOp::Kind::load;
    value.dims = view.dims;
    value.arithmetic = sums_in(out_.arrays[view.array].dtype);
    value.view = std::move(view);
    lazy_.push_back(std::move(value));
    return lazy_.size() - 1;
}

Result<std::size_t> StepBuilder::input(const Operand& operand) {
    if (const auto made = made_.find(operand.value); made != made_.end()) return made->second;
    ROOFLINE_TRY(auto array, array_for(operand.value));
    return load({array, operand.dims});
}

// Where the result of an operation is written: the stored value, or scratch.
Result<ArrayView> StepBuilder::target(const Op& op, Dtype scratch_dtype) {
    const Value& value = program_.values[op.output.value];
    if (value.intermediate) return ArrayView{scratch(op.output.dims, scratch_dtype), op.output.dims};
    ROOFLINE_TRY(auto array, array_for(op.output.value));
    RunArray& made = out_.arrays[array];
    made.role = RunArray::Role::result;
    if (!by_pass_.contains(op.output.value)) {
        made.copies = 1;
        made.depth = 0;
    }
    return ArrayView{array, op.output.dims};
}

Result<std::size_t> StepBuilder::function(const Op& op) {
    LazyValue value;
    value.dims = op.output.dims;
    value.arithmetic = sums_in(op.arithmetic);
    std::vector<std::size_t> tensors;
    for (const Operand& operand : op.inputs) {
        ROOFLINE_TRY(auto lazy, input(operand));
        tensors.push_back(lazy);
    }
    if (op.function == "causal") {
        value.op.kind = TapeOp::Kind::causal;
        value.row = op.along[0];
        value.column = op.along[1];
        value.op.number = options_.mask_fill.value_or(causal_fill(program_, op.output.value));
        const DimPart rows = part(value.row);
        const DimPart columns = part(value.column);
        value.op.shift = std::max<std::int64_t>(0, columns.whole - rows.whole) + rows.first - columns.first;
        if (op.along.size() > 2) value.op.window = size(op.along[2]);
        value.args = tensors;
    } else if (op.function == "rope" || op.function == "unrope") {
        value.op.kind = TapeOp::Kind::rope;
        value.op.number = op.function == "rope" ? 1 : -1;
        value.args = tensors;
    } else {
        const auto known = find_map_function(op.function);
        if (!known) return fail("unsupported", fmt::format("`{}` cannot run on this device yet", op.function));
        value.op.kind = TapeOp::Kind::function;
        value.op.function = *known;
        std::size_t next = 0;
        for (std::size_t position = 0; position < tensors.size() + op.constants.size(); ++position) {
            const auto constant = std::find_if(op.constants.begin(), op.constants.end(),
                                               [&](const Constant& c) { return c.position == position; });
            if (constant == op.constants.end()) {
                value.args.push_back(tensors[next++]);
                continue;
            }
            LazyValue number;
            number.op.kind = TapeOp::Kind::constant;
            number.op.number = constant->value;
            number.arithmetic = value.arithmetic;
            lazy_.push_back(std::move(number));
            value.args.push_back(lazy_.size() - 1);
        }
    }
    const bool turns = value.op.kind == TapeOp::Kind::rope;
    lazy_.push_back(std::move(value));
    const std::size_t made = lazy_.size() - 1;
    // the neighbour is the one in the value's own last dimension, even if a later operation reorders the value
    if (turns && program_.values[op.output.value].intermediate) return load(materialise(made));
    return made;
}

Result<std::size_t> StepBuilder::move(const Op& op) {
    ROOFLINE_TRY(auto lazy, input(op.inputs.front()));
    LazyValue value;
    value.op.kind = TapeOp::Kind::function;
    value.op.function = MapFunction::identity;
    value.args = {lazy};
    value.dims = op.output.dims;
    value.arithmetic = sums_in(op.arithmetic);
    lazy_.push_back(std::move(value));
    return lazy_.size() - 1;
}

Result<std::size_t> StepBuilder::rows(const Op& op) {
    RowStep row;
    row.function = op.function;
    row.along = op.along.size();
    std::vector<std::size_t> arguments;
    Dims all;
    for (const Operand& operand : op.inputs) {
        ROOFLINE_TRY(auto lazy, input(operand));
        arguments.push_back(lazy);
        all = together(all, lazy_[lazy].dims);
    }
    ROOFLINE_TRY(auto out, target(op, sums_in(op.arithmetic)));
    Dims loops;
    for (const std::string& dim : out.dims) {
        if (!has(op.along, dim)) loops.push_back(dim);
    }
    for (const std::string& dim : all) {
        if (has(op.along, dim)) loops.push_back(dim);
    }
    RunStep made;
    for (const std::size_t argument : arguments) row.tapes.push_back(tape(argument, loops, made.inputs));
    row.loops = sizes_of(loops);
    row.out = strides(out, loops);
    made.output = out.array;
    made.text = op.function;
    made.what = std::move(row);
    step(std::move(made));
    return load(out);
}

// Marks an array as indices below `below`.
void StepBuilder::indices(std::size_t array, std::int64_t below) {
    RunArray& ids = out_.arrays[array];
    ids.below = ids.below == 0 ? below : std::min(ids.below, below);
}

Result<std::size_t> StepBuilder::gather(const Op& op) {
    ROOFLINE_TRY(auto table, input(op.inputs[0]));
    ROOFLINE_TRY(auto ids, numbers_of_rows(op.inputs[1], op.function));
    const ArrayView rows_of = materialise(table);
    const ArrayView& at = ids;
    ROOFLINE_TRY(auto out, target(op, out_.arrays[rows_of.array].dtype));
    GatherStep gather;
    gather.loops = sizes_of(out.dims);
    gather.table = {0, strides(rows_of, out.dims)};
    gather.ids = {1, strides(at, out.dims)};
    gather.stride = strides(rows_of, op.along).front();
    gather.below = size(op.along.front());
    gather.first = part(op.along.front()).first;
    gather.whole = part(op.along.front()).whole;
    gather.out = strides(out, out.dims);
    indices(at.array, gather.whole);
    RunStep made;
    made.inputs = {rows_of.array, at.array};
    made.output = out.array;
    made.text = "gather";
    made.what = std::move(gather);
    step(std::move(made));
    return load(out);
}

Result<std::size_t> StepBuilder::scatter(const Op& op) {
    ROOFLINE_TRY(auto target, input(op.inputs[0]));
    ROOFLINE_TRY(auto ids, numbers_of_rows(op.inputs[1], op.function));
    ROOFLINE_TRY(auto rows, input(op.inputs[2]));
    const ArrayView into = materialise(target);
    const ArrayView& at = ids;
    const ArrayView update = materialise(rows);
    const Dims loops = together(at.dims, update.dims);
    ScatterStep scatter;
    scatter.loops = sizes_of(loops);
    scatter.ids = {0, strides(at, loops)};
    scatter.update = {1, strides(update, loops)};
    scatter.stride = strides(into, op.along).front();
    scatter.below = size(op.along.front());
    scatter.first = part(op.along.front()).first;
    scatter.whole = part(op.along.front()).whole;
    scatter.out = strides(into, loops);
    indices(at.array, scatter.whole);
    RunStep made;
    made.inputs = {at.array, update.array};
    made.output = into.array;
    made.text = "scatter";
    made.what = std::move(scatter);
    step(std::move(made));
    // the update is in place: the result is the tensor that was written into
    if (!program_.values[op.output.value].intermediate) out_.array_of[op.output.value] = into.array;
    return load(into);
}

// Stores the result of a statement if its last operation has not stored it.
Status StepBuilder::finish(const Op& op, std::size_t lazy) {
    const LazyValue& value = lazy_[lazy];
    const auto stored = out_.array_of[op.output.value];
    if (value.op.kind == TapeOp::Kind::load && stored && value.view.array == *stored) return {};
    ROOFLINE_TRY(auto out, target(op, Dtype::f32));
    if (!fold_into_matmul(lazy, out)) map_into(lazy, out);
    return {};
}

ArrayView StepBuilder::materialise(std::size_t lazy) {
    const LazyValue& value = lazy_[lazy];
    if (value.op.kind == TapeOp::Kind::load) return value.view;
    const ArrayView out{scratch(value.dims, registers(lazy)), value.dims};
    if (!fold_into_matmul(lazy, out)) map_into(lazy, out);
    return out;
}

void StepBuilder::map_into(std::size_t lazy, const ArrayView& out) {
    RunStep made;
    MapStep map;
    map.tape = tape(lazy, out.dims, made.inputs);
    map.loops = sizes_of(out.dims);
    map.out = strides(out, out.dims);
    const bool placed = std::any_of(map.tape.ops.begin(), map.tape.ops.end(), [](const TapeOp& op) {
        return op.kind == TapeOp::Kind::rope || op.kind == TapeOp::Kind::causal || op.kind == TapeOp::Kind::shifted;
    });
    if (!placed) {
        std::vector<std::vector<std::int64_t>*> all{&map.out};
        for (ArrayLoad& each : map.tape.loads) all.push_back(&each.strides);
        coalesce(map.loops, all);
    }
    made.output = out.array;
    made.text = "elementwise";
    made.what = std::move(map);
    step(std::move(made));
}

// Lets the last matmul step apply a function of one argument to its results before it stores them.
bool StepBuilder::fold_into_matmul(std::size_t lazy, const ArrayView& out) {
    std::vector<MapFunction> then;
    const LazyValue* value = &lazy_[lazy];
    while (value->op.kind == TapeOp::Kind::function && value->args.size() == 1) {
        if (value->op.function != MapFunction::identity) then.push_back(value->op.function);
        value = &lazy_[value->args.front()];
    }
    if (value->op.kind != TapeOp::Kind::load || value->dims != out.dims || out_.steps.empty()) return false;
    RunStep& before = out_.steps.back();
    auto* product = std::get_if<MatmulStep>(&before.what);
    const RunArray& made = out_.arrays[value->view.array];
    if (product == nullptr || before.output != value->view.array || before.statement != statement_ ||
        made.role != RunArray::Role::scratch || made.dims != out.dims || sums_in(product->arithmetic) != Dtype::f32 ||
        made.sizes != out_.arrays[out.array].sizes) {
        return false;
    }
    const auto& known = options_.after_matmul;
    if (!std::all_of(then.begin(), then.end(),
                     [&](MapFunction f) { return std::find(known.begin(), known.end(), f) != known.end(); })) {
        return false;
    }
    product->then.assign(then.rbegin(), then.rend());
    product->c = out_.arrays[out.array].dtype;
    before.output = out.array;
    return true;
}

std::vector<std::int64_t> StepBuilder::strides(const ArrayView& view, const Dims& loops) const {
    std::vector<std::int64_t> strides(loops.size(), 0);
    std::int64_t stride = 1;
    for (std::size_t i = view.dims.size(); i-- > 0;) {
        for (std::size_t loop = 0; loop < loops.size(); ++loop) {
            if (loops[loop] == view.dims[i] || loops[loop] == program_.local_dims.without_halo(view.dims[i]))
                strides[loop] = stride;
        }
        stride *= size(view.dims[i]);
    }
    return strides;
}

Dtype StepBuilder::registers(std::size_t lazy) const {
    const LazyValue& value = lazy_[lazy];
    Dtype widest = value.op.kind == TapeOp::Kind::constant ? Dtype::int32 : value.arithmetic;
    for (const std::size_t argument : value.args) {
        const Dtype other = registers(argument);
        if (other == Dtype::f64 || (other == Dtype::f32 && widest == Dtype::int32)) widest = other;
    }
    return widest;
}

Tape StepBuilder::tape(std::size_t lazy, const Dims& loops, std::vector<std::size_t>& inputs) const {
    Tape tape;
    tape.arithmetic = registers(lazy);
    record(lazy, loops, tape, inputs);
    return tape;
}

std::size_t StepBuilder::record(std::size_t lazy, const Dims& loops, Tape& tape,
                                std::vector<std::size_t>& inputs) const {
    const LazyValue& value = lazy_[lazy];
    TapeOp op = value.op;
    for (std::size_t i = 0; i < value.args.size(); ++i) op.in[i] = record(value.args[i], loops, tape, inputs);
    if (op.kind == TapeOp::Kind::load || op.kind == TapeOp::Kind::shifted) {
        auto found = std::find(inputs.begin(), inputs.end(), value.view.array);
        if (found == inputs.end()) found = inputs.insert(inputs.end(), value.view.array);
        op.load = tape.loads.size();
        tape.loads.push_back(
            {static_cast<std::size_t>(found - inputs.begin()), strides(value.view, loops), value.offset});
    }
    const auto loop = [&](const std::string& dim) {
        return static_cast<std::size_t>(std::find(loops.begin(), loops.end(), dim) - loops.begin());
    };
    if (op.kind == TapeOp::Kind::causal || op.below > 0) op.row = loop(value.row);
    if (op.kind == TapeOp::Kind::causal) op.column = loop(value.column);
    tape.ops.push_back(op);
    return tape.ops.size() - 1;
}

void coalesce(std::vector<std::int64_t>& loops, const std::vector<std::vector<std::int64_t>*>& all) {
    const auto drop = [&](std::size_t i) {
        loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i));
        for (auto* strides : all) strides->erase(strides->begin() + static_cast<std::ptrdiff_t>(i));
    };
    for (std::size_t i = loops.size(); i-- > 0;) {
        if (loops[i] == 1) drop(i);
    }
    for (std::size_t i = loops.size(); i-- > 1;) {
        const bool together = std::all_of(
            all.begin(), all.end(), [&](const auto* strides) { return (*strides)[i - 1] == (*strides)[i] * loops[i]; });
        if (!together) continue;
        loops[i] *= loops[i - 1];
        drop(i - 1);
    }
}

}  // namespace roofline::core
