// Operations that move numbers, and opaque ones, which read all operands.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/xla/lower/module_lowering.hpp"

namespace roofline::core {

std::vector<bool> unused_views(const XlaComputation& all) {
    const auto is_view = [](std::string_view opcode) {
        return opcode == "slice" || opcode == "reshape" || opcode == "transpose" || opcode == "broadcast";
    };
    std::vector<bool> unused(all.instructions.size(), true);
    for (std::size_t i = all.instructions.size(); i-- > 0;) {
        const XlaInstruction& each = all.instructions[i];
        if (i == all.root || !is_view(each.opcode)) unused[i] = false;
        if (unused[i]) continue;
        for (const std::uint32_t operand : each.operands) unused[operand] = false;
    }
    return unused;
}

Result<Bound> ModuleLowering::rearrange(InstructionRef ref, const Bounds& operands, std::string_view function,
                                        Block& into) {
    const XlaInstruction& each = at(ref);
    if (!each.shape.is_array()) {
        // The start of an asynchronous copy has its source and its result in a tuple.
        if (operands.size() != 1 || each.shape.parts.empty()) return fail_at(ref, "its result is no array");
        Op op;
        op.kind = OpKind::move;
        op.arithmetic = arithmetic_of_shape(operands[0].shape);
        if (!operands[0].value || !each.shape.parts[0].is_array()) return operands[0];
        const std::vector<std::string> dims = DimNames(out_.program).add_all(operands[0].shape);
        op.inputs = {operand(operands[0], dims)};
        return emit(ref, std::move(op), each.shape.parts[0], dims, into);
    }
    const bool all_numbers = std::all_of(operands.begin(), operands.end(), [](const Bound& one) { return one.number; });
    if (!operands.empty() && (all_numbers || (function == "slice" && operands.front().number))) {
        return number_of_shape(each.shape, operands.front().constant);
    }
    Op op;
    op.function = function;
    op.arithmetic = arithmetic_of_shape(each.shape);
    for (const Bound& one : operands) {
        if (one.number || !one.value) continue;
        // Start indices and padding values are single numbers.
        if (&one != &operands.front() && one.shape.elements() == 1) continue;
        op.inputs.push_back(operand(one, DimNames(out_.program).add_all(one.shape)));
    }
    // A copy into another memory is a transfer between the two.
    if (function == "copy" && operands.size() == 1 && operands[0].value &&
        operands[0].shape.memory_space != each.shape.memory_space) {
        op.kind = OpKind::move;
    }
    return emit(ref, std::move(op), each.shape, DimNames(out_.program).add_all(each.shape), into);
}

Result<Bound> ModuleLowering::broadcast(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 1));
    Bound bound = in_memory(ref, operands[0], into, Numbers::stay);
    if (bound.number) {
        bound.shape = each.shape;
        return bound;
    }
    if (!bound.value || !each.shape.is_array()) return fail_at(ref, "its operand is no array");
    const std::vector<std::int64_t> places = each.numbers("dimensions");
    if (places.size() != bound.shape.dims.size() || !are_dims(places, each.shape.dims.size())) {
        return fail_at(ref, "its dimensions do not fit its operand");
    }
    for (std::size_t d = 0; d < places.size(); ++d) {
        const std::int64_t size = bound.shape.dims[d];
        if (size != 1 && size != each.shape.dims[static_cast<std::size_t>(places[d])]) {
            return fail_at(ref, "a dimension of its operand has another size in its result");
        }
    }
    if (bound.shape.elements() == each.shape.elements()) {  // only dimensions of one element are new
        bound.shape = each.shape;
        return bound;
    }
    // Nothing is written: what uses it finds the same numbers again, and in_memory() writes it where that is needed.
    bound.narrow = bound.shape;
    bound.shape = each.shape;
    bound.places.assign(places.begin(), places.end());
    return bound;
}

Result<Bound> ModuleLowering::gather(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 2));
    const Bound table = in_memory(ref, operands[0], into);
    const Bound ids = in_memory(ref, operands[1], into);
    if (!table.value || !ids.value || !each.shape.is_array()) return fail_at(ref, "its operands are no arrays");
    Op op;
    op.function = "gather";
    op.arithmetic = arithmetic_of_shape(each.shape);
    op.inputs = {operand(table, DimNames(out_.program).add_all(table.shape)),
                 operand(ids, DimNames(out_.program).add_all(ids.shape))};
    return emit(ref, std::move(op), each.shape, DimNames(out_.program).add_all(each.shape), into);
}

Result<Bound> ModuleLowering::scatter(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 3));
    if (operands.size() % 2 == 0 || each.called.size() != 1) return fail_at(ref, "its operands do not come in pairs");
    const std::size_t arrays = operands.size() / 2;
    const Bound ids = in_memory(ref, operands[arrays], into);
    // A combiner that only takes the new number overwrites.
    const bool overwrites = module_.computations[each.called.front()].result().opcode == "parameter";
    std::vector<Bound> results;
    for (std::size_t i = 0; i < arrays; ++i) {
        const Bound target = in_memory(ref, operands[i], into);
        const Bound update = in_memory(ref, operands[arrays + 1 + i], into);
        if (!target.value || !ids.value || !update.value) {
            results.push_back(target);
            continue;
        }
        Op op;
        op.function = overwrites ? "scatter" : "update";
        op.arithmetic = arithmetic_of_shape(update.shape);
        op.inputs = {operand(target, DimNames(out_.program).add_all(target.shape)),
                     operand(ids, DimNames(out_.program).add_all(ids.shape)),
                     operand(update, DimNames(out_.program).add_all(update.shape))};
        results.push_back(emit(ref, std::move(op), target.shape, DimNames(out_.program).add_all(target.shape), into));
    }
    return each.shape.is_tuple() ? tuple(std::move(results), each.shape) : results.front();
}

Result<Bound> ModuleLowering::update_slice(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 2));
    const Bound target = in_memory(ref, operands[0], into);
    const Bound update = in_memory(ref, operands[1], into);
    if (!target.value || !update.value) return target;
    Op op;
    op.function = "scatter";
    op.arithmetic = arithmetic_of_shape(each.shape);
    const Operand rows = operand(update, DimNames(out_.program).add_all(update.shape));
    // The place is a few numbers; the update stands in for them, because it is read once however often it is used.
    op.inputs = {operand(target, DimNames(out_.program).add_all(target.shape)), rows, rows};
    return emit(ref, std::move(op), target.shape, DimNames(out_.program).add_all(target.shape), into);
}

void ModuleLowering::add_kernel(Block block, Block& into) {
    if (inside_fusion_ || block.nodes.size() == 1) {
        for (Node& node : block.nodes) into.nodes.push_back(std::move(node));
    } else if (!block.nodes.empty()) {
        into.nodes.emplace_back(std::move(block));
    }
}

Result<Bound> ModuleLowering::opaque(InstructionRef ref, const Bounds& operands, std::string_view function,
                                     double flops, Block& into) {
    const XlaInstruction& each = at(ref);
    Block block;
    block.kind = Block::Kind::fuse;
    block.values_before = out_.program.values.size();
    std::vector<Bound> results;
    std::vector<XlaShape> shapes = each.shape.is_tuple() ? each.shape.parts : std::vector<XlaShape>{each.shape};
    bool first = true;
    for (const XlaShape& shape : shapes) {
        if (!shape.is_array() || shape.elements() == 0) {
            Bound none;
            none.shape = shape;
            results.push_back(none);
            continue;
        }
        Op op;
        op.function = function;
        op.arithmetic = arithmetic_of_shape(shape);
        for (const Bound& one : operands) {
            if (one.value) op.inputs.push_back(operand(one, DimNames(out_.program).add_all(one.shape)));
        }
        constexpr double most = 9e18;
        if (first && flops >= 1) {
            const auto count = static_cast<std::int64_t>(std::llround(std::min(flops, most)));
            op.along = {fmt::format("W{}", count)};
            if (!out_.program.sizes.contains(op.along.front())) out_.program.dims.push_back(op.along.front());
            out_.program.sizes[op.along.front()] = count;
        }
        first = false;
        results.push_back(emit(ref, std::move(op), shape, DimNames(out_.program).add_all(shape), block));
    }
    block.values_after = out_.program.values.size();
    add_kernel(std::move(block), into);
    return each.shape.is_tuple() ? tuple(std::move(results), each.shape) : results.front();
}

}  // namespace roofline::core
