#include <fmt/format.h>

#include <algorithm>

#include "import/xla/cost/xla_backend_config.hpp"
#include "import/xla/cost/xla_custom_call.hpp"
#include "import/xla/lower/module_lowering.hpp"
#include "notation/notation.hpp"

namespace roofline::core {

namespace {

// Custom calls that only say where an array lies.
constexpr std::string_view annotations[] = {"Sharding",
                                            "SPMDFullToShardShape",
                                            "SPMDShardToFullShape",
                                            "xla.sdy.FuncResultSharding",
                                            "LayoutConstraint",
                                            "annotate_device_placement",
                                            "xla.sdy.GlobalToLocalShape",
                                            "xla.sdy.LocalToGlobalShape",
                                            "AllocateBuffer",
                                            "CreateBuffer",
                                            "PinToVmem",
                                            "PinToHbm",
                                            "AssumeGatherIndicesInBound",
                                            "GatherScatterIndicesAligned",
                                            "X64Combine",
                                            "inspect_sharding",
                                            "xla.sdy.ShardingGroup",
                                            "xla.sdy.PropagationBarrier"};

}  // namespace

Result<Bound> ModuleLowering::custom_call(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    const std::string_view target = custom_call_target(each);
    if (std::find(std::begin(annotations), std::end(annotations), target) != std::end(annotations) ||
        target.starts_with("xla.sdy")) {
        if (operands.empty()) return input(each.shape, each.name, ref);
        const bool constraint = target == "Sharding" || target == "xla.sdy.FuncResultSharding";
        if (options_.keep_constraints && constraint && each.shape.is_array() && each.shape.elements() > 1) {
            const Bound array = in_memory(ref, operands[0], into, Numbers::stay);
            if (!array.value) return array;
            Op op;
            op.kind = OpKind::move;
            op.arithmetic = arithmetic_of_shape(array.shape);
            const std::vector<std::string> dims = DimNames(out_.program).add_all(each.shape);
            op.inputs = {operand(array, dims)};
            return emit(ref, std::move(op), each.shape, dims, into);
        }
        if (!each.shape.is_tuple() || operands[0].parts) {
            Bound bound = operands[0];
            if (!bound.parts) bound.shape = each.shape;
            return bound;
        }
        // One result per operand, with the shape of one device.
        std::vector<Bound> parts;
        for (std::size_t i = 0; i < each.shape.parts.size(); ++i) {
            if (i >= operands.size()) return fail_at(ref, "it has more results than operands");
            parts.push_back(in_memory(ref, operands[i], into, Numbers::stay));
            parts.back().shape = each.shape.parts[i];
        }
        return tuple(std::move(parts), each.shape);
    }
    if ((target == "MoveToHost" || target == "MoveToDevice") && operands.size() == 1 && operands[0].value) {
        Op op;
        op.kind = OpKind::move;
        op.arithmetic = info(operands[0].shape.element->dtype).arithmetic;
        const std::vector<std::string> dims = DimNames(out_.program).add_all(operands[0].shape);
        op.inputs = {operand(operands[0], dims)};
        XlaShape there = operands[0].shape;
        there.memory_space = target == "MoveToHost" ? 5 : 0;
        return emit(ref, std::move(op), there, dims, into);
    }
    if (is_cublas_product(each)) return library_matmul(ref, operands, into);
    if (is_cudnn_convolution(each)) return library_convolution(ref, operands, into);
    if (target.starts_with("te_fused_attn_forward") || target.starts_with("__cudnn$fmha")) {
        return attention(ref, operands, target.find("Backward") != std::string_view::npos, into);
    }
    if (target.starts_with("te_fused_attn_backward")) return attention(ref, operands, true, into);
    if (target == "attention" || target == "attention_backward") {  // of PyTorch
        return attention(ref, operands, target != "attention", into);
    }
    if (target == "TopK") {
        const double n =
            operands.empty() || !operands[0].shape.is_array() ? 0 : static_cast<double>(operands[0].shape.elements());
        return opaque(ref, operands, "opaque", n, into);
    }
    if (costs_.instructions[ref.computation][ref.instruction].known) {  // it states its cost
        return opaque(ref, operands, "custom", counted_flops(ref), into);
    }
    gap(ref, fmt::format("custom-call {}: its FLOPs are unknown; the bytes of its operands and results count", target));
    return opaque(ref, operands, "unknown", 0, into);
}

Result<Bound> ModuleLowering::library_matmul(InstructionRef ref, const Bounds& operands, Block& into) {
    const XlaInstruction& each = at(ref);
    ROOFLINE_CHECK(want_operands(ref, 2));
    const std::string config = plain_config(each);
    DotDims dims;
    const auto numbers = [&](std::string_view key) {
        return config_numbers(config, key).value_or(std::vector<std::int64_t>{});
    };
    dims.left_sum = numbers("lhs_contracting_dimensions");
    dims.right_sum = numbers("rhs_contracting_dimensions");
    dims.left_batch = numbers("lhs_batch_dimensions");
    dims.right_batch = numbers("rhs_batch_dimensions");
    const bool several = each.shape.is_tuple();
    if (several && each.shape.parts.empty()) return fail_at(ref, "its result has no parts");
    const XlaShape& result = several ? each.shape.parts.front() : each.shape;
    const std::string written(value_of_key(config, "epilogue").value_or(""));
    const std::string_view function = written.find("GELU") != std::string::npos   ? "gelu"
                                      : written.find("RELU") != std::string::npos ? "relu"
                                      : written.find("SILU") != std::string::npos ? "silu"
                                                                                  : "";
    Block block;
    block.kind = Block::Kind::fuse;
    block.values_before = out_.program.values.size();
    ROOFLINE_TRY(const Bound product_bound, product(ref, operands[0], operands[1], result, dims, block));
    std::vector<Bound> made{product_bound};
    // What the activation is applied to is kept for the backward pass.
    const bool kept = written.find("_AUX") != std::string::npos && several && each.shape.parts.size() > 1 &&
                      each.shape.parts[1].elements() == result.elements();
    if (kept) {
        made.front() = epilogue(ref, product_bound, operands, "", block);
        Op op;
        op.function = "copy";
        op.arithmetic = arithmetic_of_shape(result);
        op.inputs = {operand(made.front(), DimNames(out_.program).add_all(result))};
        made.push_back(emit(ref, std::move(op), each.shape.parts[1], DimNames(out_.program).add_all(result), block));
        made.front() = epilogue(ref, made.front(), {}, function, block);
    } else {
        made.front() = epilogue(ref, product_bound, operands, function, block);
    }
    block.values_after = out_.program.values.size();
    add_kernel(std::move(block), into);
    return library_results(ref, std::move(made));
}

Bound ModuleLowering::library_results(InstructionRef ref, std::vector<Bound> made) const {
    const XlaShape& shape = at(ref).shape;
    if (!shape.is_tuple() || made.front().parts) return made.front();
    for (std::size_t i = made.size(); i < shape.parts.size(); ++i) {
        Bound workspace;
        workspace.shape = shape.parts[i];
        made.push_back(std::move(workspace));
    }
    return tuple(std::move(made), shape);
}

Bound ModuleLowering::epilogue(InstructionRef ref, const Bound& product, const Bounds& operands,
                               std::string_view function, Block& into) {
    Bound made = product;
    if (!made.value) return made;
    for (std::size_t i = 2; i < operands.size(); ++i) {
        const Bound added = in_memory(ref, operands[i], into, Numbers::stay);
        if (!added.value || added.shape.elements() == 1) continue;  // a scale
        Op op;
        op.function = "add";
        op.arithmetic = arithmetic_of_shape(made.shape);
        const std::vector<std::string> dims = DimNames(out_.program).add_all(made.shape);
        std::vector<std::string> own = dims;
        if (added.shape.elements() != made.shape.elements()) {
            // One number for each row or column.
            const auto along = std::find_if(dims.rbegin(), dims.rend(), [&](const std::string& dim) {
                return out_.program.sizes.at(dim) == added.shape.elements();
            });
            if (along == dims.rend()) {
                gap(ref, fmt::format("{} {}: its operand of the shape {} is not counted", at(ref).opcode, at(ref).name,
                                     shape_text(added.shape)));
                continue;
            }
            own = {*along};
        }
        op.inputs = {operand(made, dims), operand(added, std::move(own))};
        made = emit(ref, std::move(op), made.shape, dims, into);
    }
    if (function.empty()) return made;
    Op op;
    op.function = function;
    op.arithmetic = arithmetic_of_shape(made.shape);
    const std::vector<std::string> dims = DimNames(out_.program).add_all(made.shape);
    op.inputs = {operand(made, dims)};
    return emit(ref, std::move(op), made.shape, dims, into);
}

Result<std::vector<ValueId>> ModuleLowering::splice(InstructionRef ref, const std::string& text,
                                                    const std::map<std::string, Bound>& inputs,
                                                    const std::vector<std::string>& results, Block& into) {
    auto parsed = parse_program(text);
    if (!parsed) return fail_at(ref, parsed.error().message);
    Program& out = out_.program;
    std::vector<ValueId> place;
    std::map<std::string, ValueId> named;
    for (Value& value : parsed->values) {
        const auto given = inputs.find(value.name);
        if (given != inputs.end()) {
            place.push_back(*given->second.value);
            continue;
        }
        named[value.name] = out.values.size();
        place.push_back(out.values.size());
        if (!value.name.empty()) value.name = fmt::format("{}_{}", value.name, out.values.size());
        out.values.push_back(std::move(value));
        out_.made_by.emplace_back(ref);
        out_.written_by.emplace_back(ref);
        out_.called_by.push_back(caller_);
    }
    for (const std::string& dim : parsed->dims) out.dims.push_back(dim);
    out.sizes.insert(parsed->sizes.begin(), parsed->sizes.end());
    const auto moved = [&](auto&& self, Block block) -> Block {
        for (Node& node : block.nodes) {
            if (auto* inner = std::get_if<Block>(&node)) {
                *inner = self(self, std::move(*inner));
                continue;
            }
            auto& statement = std::get<Statement>(node);
            statement.result = place[statement.result];
            for (Op& op : statement.ops) {
                for (Operand& each : op.inputs) each.value = place[each.value];
                op.output.value = place[op.output.value];
            }
        }
        block.values_before = std::min(out.values.size(), block.values_before + out.values.size());
        block.values_after = out.values.size();
        return block;
    };
    Block body = moved(moved, std::move(parsed->body));
    for (Node& node : body.nodes) into.nodes.push_back(std::move(node));
    std::vector<ValueId> made;
    for (const std::string& name : results) made.push_back(named.at(name));
    return made;
}

}  // namespace roofline::core
