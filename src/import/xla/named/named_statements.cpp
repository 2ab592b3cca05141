// Statements of an imported program with named dimensions, such that they can be parsed back.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "import/xla/named/program_naming.hpp"
#include "program/functions.hpp"
#include "program/typing.hpp"

namespace roofline::core {

namespace {

// Numbers that the notation can write: infinities become the largest of f32, and a number that only the compiler knows
// becomes 1. No count depends on them.
double written_number(double number) {
    constexpr double largest = 3.4e38;
    if (std::isnan(number)) return 1;
    return std::clamp(number, -largest, largest);
}

// What a reduction does to an array of which no dimension is left: the first number is combined with the initial one.
std::string_view combiner(std::string_view reduction) {
    if (reduction == "sum") return "add";
    if (reduction == "prod") return "mul";
    return reduction == "max" ? "maximum" : "minimum";
}

bool counts_flops(const Op& op) {
    if (op.kind == OpKind::contract) return true;
    if (op.kind == OpKind::move) return false;
    const FunctionInfo& function = *find_function(op.function);
    if (function.kind == FunctionKind::opaque) return !op.along.empty();
    return function.flops + function.transcendentals + function.row_flops + function.row_transcendentals > 0;
}

}  // namespace

double ProgramNaming::elements_of(const Names& dims) const {
    double elements = 1;
    for (const std::string& dim : dims) elements *= static_cast<double>(out_.program.sizes.at(dim));
    return elements;
}

void ProgramNaming::statement(const Statement& from, const Place& place) {
    if (from.ops.front().function == "windows" && from.ops.size() == 2) return convolution(from, place);
    Statement into;
    into.messages = from.messages;
    for (std::size_t i = 0; i < from.ops.size(); ++i) {
        const Op& op = from.ops[i];
        const OpDims& dims = dims_.of_op(next_op_++);
        if (ties_by_name(op)) {
            tied(op, dims, i + 1 == from.ops.size(), place, into);
        } else {
            apart(op, dims, place, into);
        }
    }
    into.result = into.ops.back().output.value;
    for (Message& message : into.messages) message.tensor = out_.program.values[into.result].name;
    fuse_of_[into.result] = place.fuse;
    say_arithmetic(into);
    place.into.nodes.emplace_back(std::move(into));
}

// Adds the operation that makes the value. A result with dimensions that no operand has repeats what was computed.
void ProgramNaming::finish(Op op, ValueId old, const Names& dims, bool last, Statement& into) {
    const Names follow = result_dims(op);
    Names more;
    for (const std::string& dim : dims) {
        if (!has(follow, dim)) more.push_back(dim);
    }
    const bool repeats = ties_by_name(op) && !more.empty();
    if (repeats && op.kind == OpKind::move) {
        // A conversion counts each element that it writes.
        Op expand = op;
        expand.kind = OpKind::apply;
        expand.function = "expand";
        expand.along = more;
        const Dtype from = out_.program.values[op.inputs.front().value].type.dtype;
        Names all = follow;
        all.insert(all.end(), more.begin(), more.end());
        expand.arithmetic = info(from).arithmetic;
        expand.output = {add_intermediate(old, all, result_dtype(expand.arithmetic)), all};
        op.kind = OpKind::apply;
        op.function = "convert";
        op.arithmetic = expand.arithmetic;
        op.inputs = {expand.output};
        into.ops.push_back(std::move(expand));
    } else if (repeats) {
        Op inner = std::move(op);
        inner.output = {add_intermediate(old, follow, result_dtype(inner.arithmetic)), follow};
        op = Op{};
        op.function = "expand";
        op.along = more;
        op.arithmetic = inner.arithmetic;
        op.inputs = {inner.output};
        into.ops.push_back(std::move(inner));
    }
    const bool named = last || !from_.values[old].intermediate;
    if (!named) now_[old] = add_intermediate(old, dims, from_.values[old].type.dtype);
    op.output = {named ? add_result(old, dims) : *now_[old], dims};
    into.ops.push_back(std::move(op));
}

void ProgramNaming::tied(const Op& op, const OpDims& dims, bool last, const Place& place, Statement& into) {
    Op made;
    made.kind = op.kind;
    made.function = op.kind == OpKind::move ? "" : op.function;
    made.arithmetic = op.arithmetic;
    made.named_sum = op.named_sum;
    made.share = op.share;
    made.constants = op.constants;
    for (Constant& constant : made.constants) constant.value = written_number(constant.value);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        made.inputs.push_back(under(op.inputs[i].value, names(dims.inputs[i]), place));
    }
    for (const std::string& dim : op.along) {
        for (std::string& part : names({dims.along.at(dim)})) made.along.push_back(std::move(part));
    }
    use_dims(made.along);
    const bool reduces = op.kind == OpKind::apply && find_function(op.function)->kind == FunctionKind::reduce;
    if (op.kind == OpKind::contract && made.along.empty()) {
        made.kind = OpKind::apply;
        made.function = "mul";
    } else if (reduces && made.along.empty()) {
        made.function = combiner(op.function);
        made.constants = {{1, op.function == "prod" ? 1.0 : 0.0}};
    }
    finish(std::move(made), op.output.value, names(dims_.of_value(op.output.value)), last, into);
}

// Whether it looks up rows of a table along one dimension; any other gather is a slice at places that are read.
bool ProgramNaming::gathers_rows(const Op& op, const OpDims& dims, const Place& place, Op& made) {
    const Names table = names(dims.inputs[0]);
    const Names ids = names(dims.inputs[1]);
    const Names result = names(dims_.of_value(op.output.value));
    Names gone;
    for (const std::string& dim : table) {
        if (!has(result, dim)) gone.push_back(dim);
        if (has(ids, dim)) return false;
    }
    if (gone.size() != 1) return false;
    made.function = "gather";
    made.along = gone;
    made.inputs = {under(op.inputs[0].value, table, place), under(op.inputs[1].value, ids, place)};
    return same_set(result_dims(made), result);
}

// The notation names the dimension that rows are written along.
void ProgramNaming::scatter(const Op& op, const OpDims& dims, const Place& place, Op& made) {
    const Names result = names(dims_.of_value(op.output.value));
    const Names update = names(dims.inputs[2]);
    if (result.empty()) {  // one number
        made.function = op.function == "update" ? "add" : "copy";
        made.inputs = {under(op.inputs[2].value, {}, place)};
        // What a fusion makes for it alone would be stored if nothing in the fusion read it.
        const bool inside = place.fuse != 0 && fuse_of_[*now_[op.inputs[0].value]] == place.fuse;
        if (op.function != "update" && inside) made.function = "concat";
        if (op.function == "update" || inside) made.inputs.push_back(under(op.inputs[0].value, {}, place));
        return;
    }
    made.inputs = {under(op.inputs[0].value, result, place), as_it_is(op.inputs[1].value),
                   as_it_is(op.inputs[2].value)};
    const auto written = std::find_if(result.begin(), result.end(), [&](const auto& dim) { return !has(update, dim); });
    made.along = {written == result.end() ? result.front() : *written};
}

void ProgramNaming::apart(const Op& op, const OpDims& dims, const Place& place, Statement& into) {
    Op made;
    made.function = op.function;
    made.arithmetic = op.arithmetic;
    made.along = op.along;
    for (const std::string& dim : op.along) {
        out_.program.sizes.insert(*from_.sizes.find(dim));
        use_dims({dim});
    }
    const FunctionKind kind = find_function(op.function)->kind;
    const Names result = names(dims_.of_value(op.output.value));
    const bool rows = kind == FunctionKind::gather && gathers_rows(op, dims, place, made);
    if (kind == FunctionKind::scatter) {
        scatter(op, dims, place, made);
    } else if (!rows) {
        made.along = op.along;
        made.inputs.clear();
        if (kind == FunctionKind::gather) made.function = "slice";
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
            Operand whole = as_it_is(op.inputs[i].value);
            const Names seen = names(dims.inputs[i]);
            const bool alike = elements_of(seen) == elements_of(whole.dims);
            made.inputs.push_back(alike ? std::move(whole) : under(op.inputs[i].value, seen, place));
        }
    }
    made.output = {add_result(op.output.value, result), result};
    into.ops.push_back(std::move(made));
}

// The notation has windows as a statement of their own, in a kernel with the matmul. It cannot say that some windows
// reach over an edge: such a convolution is work of so many FLOPs.
void ProgramNaming::convolution(const Statement& from, const Place& place) {
    const Op& windows = from.ops[0];
    const Op& matmul = from.ops[1];
    const OpDims& of_windows = dims_.of_op(next_op_++);
    const OpDims& of_matmul = dims_.of_op(next_op_++);
    const ValueId result = matmul.output.value;
    const Names dims = names(dims_.of_value(result));
    const Operand kernel = under(matmul.inputs[1].value, names(of_matmul.inputs[1]), place);
    const Operand input = under(windows.inputs[0].value, names(of_windows.inputs[0]), place);
    Statement product;
    if (matmul.share != Rational(1) || matmul.along.empty()) {
        Op op;
        op.function = "custom";
        op.arithmetic = matmul.arithmetic;
        op.inputs = {input, kernel};
        double points = 2;
        for (const auto& [name, id] : of_matmul.along) points *= elements_of(names({id}));
        const auto flops = static_cast<std::int64_t>(std::llround(points * matmul.share.to_double()));
        op.along = {fmt::format("W{}", flops)};
        out_.program.sizes[op.along.front()] = flops;
        use_dims(op.along);
        op.output = {add_result(result, dims), dims};
        product.ops = {std::move(op)};
    } else {
        Block fused;
        fused.kind = Block::Kind::fuse;
        fused.values_before = out_.program.values.size();
        const Place inside = place.fuse != 0 ? place : Place{fused, place.into, ++fuses_};
        Statement unfolded;
        Op op = windows;
        op.inputs = {input};
        const Names seen = names(of_matmul.inputs[0]);
        const ValueId between = add_value(windows.output.value, seen, free_name(base_name(result) + "Windows"));
        now_[windows.output.value] = between;
        fuse_of_[between] = inside.fuse;
        op.output = {between, seen};
        unfolded.result = between;
        unfolded.ops = {std::move(op)};
        inside.into.nodes.emplace_back(std::move(unfolded));
        Op sum = matmul;
        sum.inputs = {{between, seen}, kernel};
        sum.along.clear();
        for (const std::string& dim : matmul.along) {
            for (std::string& part : names({of_matmul.along.at(dim)})) sum.along.push_back(std::move(part));
        }
        sum.output = {add_result(result, dims), dims};
        product.ops = {std::move(sum)};
        product.result = product.ops.back().output.value;
        fuse_of_[product.result] = place.fuse;
        say_arithmetic(product);
        inside.into.nodes.emplace_back(std::move(product));
        fused.values_after = out_.program.values.size();
        if (place.fuse == 0) place.into.nodes.emplace_back(std::move(fused));
        return;
    }
    product.result = product.ops.back().output.value;
    fuse_of_[product.result] = place.fuse;
    say_arithmetic(product);
    place.into.nodes.emplace_back(std::move(product));
}

// Where the dtype of the arithmetic does not follow from the operands, the statement says it.
void ProgramNaming::say_arithmetic(Statement& statement) const {
    for (const Op& op : statement.ops) {
        if (!counts_flops(op) || moves_rows(op)) continue;
        std::vector<Dtype> dtypes;
        for (const Operand& input : op.inputs) dtypes.push_back(out_.program.values[input.value].type.dtype);
        DtypeClash clash;
        if (arithmetic_of(dtypes, clash) != op.arithmetic) statement.using_dtype = op.arithmetic;
    }
}

}  // namespace roofline::core
