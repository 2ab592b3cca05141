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
    if (target.starts_with("te_fused_attn_forward") || target.starts_with("__cudnn$fmha")) {
        return attention(ref, operands, target.find("Backward") != std::string_view::npos, into);
    }
    if (target.starts_with("te_fused_attn_backward")) return attention(ref, operands, true, into);
    if (target == "TopK") {
        const double n =
            operands.empty() || !operands[0].shape.is_array() ? 0 : static_cast<double>(operands[0].shape.elements());
        return opaque(ref, operands, n, into);
    }
    if (costs_.instructions[ref.computation][ref.instruction].known) {  // it states its cost
        return opaque(ref, operands, counted_flops(ref), into);
    }
    gap(ref, fmt::format("custom-call {}: its FLOPs are unknown; the bytes of its operands and results count", target));
    return opaque(ref, operands, std::nullopt, into);
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
    // The second part of the result is workspace, which holds nothing afterwards.
    const bool several = each.shape.is_tuple();
    if (several && each.shape.parts.empty()) return fail_at(ref, "its result has no parts");
    const XlaShape& result = several ? each.shape.parts.front() : each.shape;
    ROOFLINE_TRY(Bound made, product(ref, operands[0], operands[1], result, dims, into));
    if (!several) return made;
    std::vector<Bound> parts{std::move(made)};
    for (std::size_t i = 1; i < each.shape.parts.size(); ++i) {
        Bound workspace;
        workspace.shape = each.shape.parts[i];
        parts.push_back(std::move(workspace));
    }
    return tuple(std::move(parts), each.shape);
}

// Fused attention: its sizes stand in the configuration (Transformer Engine) or follow from the operands (cuDNN), and a
// kernel multiplies all queries and keys and the probabilities with the values. Backward, it computes the scores again
// and has four more products.
Result<Bound> ModuleLowering::attention(InstructionRef ref, const Bounds& operands, bool backward, Block& into) {
    const XlaInstruction& each = at(ref);
    const std::string config = plain_config(each);
    const auto whole = [&](std::string_view key) -> std::int64_t {
        const auto number = config_number(config, key);
        return number && *number >= 1 && *number < 1e12 ? static_cast<std::int64_t>(*number) : 0;
    };
    const auto unknown = [&] {
        gap(ref, fmt::format("{} {}: the sizes of its attention are not given; the bytes of its operands count",
                             each.opcode, each.name));
        return opaque(ref, operands, std::nullopt, into);
    };
    std::int64_t batch = whole("input_batch");
    std::int64_t heads = whole("attn_heads");
    std::int64_t groups = whole("num_gqa_groups");
    std::int64_t queries = whole("q_max_seqlen");
    std::int64_t keys = whole("kv_max_seqlen");
    std::int64_t width = whole("qk_head_dim");
    std::int64_t value_width = whole("v_head_dim");
    if (width == 0) width = value_width = whole("head_dim");
    const std::int64_t mask = whole("mask_type");
    // Keys and values may lie in one array, the second operand; queries, keys and values in the first.
    std::size_t arrays = 3;
    if (operands.size() >= 3 && operands[1].value &&
        operands[1].shape.elements() == batch * keys * groups * (width + value_width)) {
        arrays = 2;
    } else if (!operands.empty() && operands[0].value &&
               operands[0].shape.elements() == batch * queries * (heads * width + groups * (width + value_width)) &&
               queries == keys) {
        arrays = 1;
    }
    if (operands.size() < arrays || batch == 0 || heads == 0 || groups == 0 || heads % groups != 0 || queries == 0 ||
        keys == 0 || width == 0 || value_width == 0) {
        return unknown();
    }
    for (std::size_t i = 0; i < arrays; ++i) {
        if (!operands[i].value) return unknown();
    }
    const auto fits = [](const Bound& bound, std::int64_t elements) { return bound.shape.elements() == elements; };
    const Bound& of_queries = operands[0];
    const Bound& of_keys = operands[std::min<std::size_t>(arrays - 1, 1)];
    const Bound& of_values = operands[arrays - 1];
    const bool apart = fits(of_queries, batch * queries * heads * width) &&
                       fits(of_keys, batch * keys * groups * width) &&
                       fits(of_values, batch * keys * groups * value_width);
    if (arrays == 3 && !apart) return unknown();
    const std::string type(name(operands[0].shape.element->dtype));
    // Transformer Engine's masks: 0 none, 1 padding, 2 causal, 3 padding and causal, 4 and 5 causal from the last key.
    const bool causal = mask >= 2;
    const std::string suffix = fmt::format("n{}", out_.program.values.size());
    const std::string sizes = fmt::format("b{0}={1}, t{0}={2}, s{0}={3}, k{0}={4}, g{0}={5}, h{0}={6}, e{0}={7}\n",
                                          suffix, batch, queries, keys, groups, heads / groups, width, value_width);
    const auto dims = [&](std::string_view letters) {
        std::string text;
        for (const char letter : letters) text += fmt::format("{}{}{}", text.empty() ? "" : ", ", letter, suffix);
        return text;
    };
    std::string text = sizes;
    // Parts of one array are read as slices of it inside the kernel.
    const std::pair<std::string_view, std::string> parts_of[] = {
        {"Q", dims("btkgh")}, {"K", dims("bskh")}, {"V", dims("bske")}};
    std::map<std::string, Bound> inputs;
    std::string slices;
    for (std::size_t i = 0; i < 3; ++i) {
        const auto& [name_of_it, axes] = parts_of[i];
        const std::string declared = fmt::format("{} : {}[{}]", name_of_it, type, axes);
        const std::size_t holder = std::min(i, arrays - 1);
        const bool packed = arrays < 3 && holder + 1 == arrays;
        const std::string source = packed ? std::string("Packed") : std::string(name_of_it);
        if (!packed) text += declared + "\n";
        if (packed) slices += declared + " = slice(Packed)\n";
        if (packed && !inputs.contains(source)) {
            text += fmt::format("Packed : {}[{}]\n", type, operands[holder].shape.elements());
        }
        inputs.emplace(source, operands[holder]);
    }
    const std::string scores = fmt::format("Q *_h{} K", suffix);
    const std::string masked = causal ? fmt::format("causal[{}]({})", dims("ts"), scores) : scores;
    const std::string softmax = fmt::format("softmax[s{}]({})", suffix, masked);
    if (!backward) {
        text += fmt::format("O : {}[{}] = {} *_s{} V\n", type, dims("btkge"), softmax, suffix);
        ROOFLINE_TRY(const auto made, splice(ref, text, inputs, {"O"}, into));
        std::vector<Bound> parts;
        const bool several = each.shape.is_tuple();
        for (std::size_t i = 0; i < (several ? each.shape.parts.size() : 1); ++i) {
            Bound part;
            part.shape = several ? each.shape.parts[i] : each.shape;
            if (i == 0) part.value = made.front();
            // Statistics of the rows for the backward pass, the state of the random numbers, workspace.
            if (i > 0 && part.shape.is_array() && part.shape.elements() > 0) part = input(part.shape, each.name, ref);
            parts.push_back(std::move(part));
        }
        return several ? tuple(std::move(parts), each.shape) : parts.front();
    }
    // The gradient of the output has the output's elements.
    const Bound* gradient = nullptr;
    for (std::size_t i = arrays; i < operands.size(); ++i) {
        if (operands[i].value && fits(operands[i], batch * queries * heads * value_width)) gradient = &operands[i];
    }
    if (gradient == nullptr || !each.shape.is_tuple() || each.shape.parts.size() < arrays) return unknown();
    text += fmt::format("G : {}[{}]\nfuse {{\n{}", type, dims("btkge"), slices);
    inputs.emplace("G", *gradient);
    text += fmt::format("P : {}[{}] = {}\n", type, dims("bkgts"), softmax);
    text += fmt::format("DV : {}[{}] = P *_{{{}}} G\n", type, dims("bske"), dims("gt"));
    // Nor is the gradient of masked scores computed.
    const std::string of_scores = fmt::format("G *_e{} V", suffix);
    text += fmt::format("DP : {}[{}] = {}\n", type, dims("bkgts"),
                        causal ? fmt::format("causal[{}]({})", dims("ts"), of_scores) : of_scores);
    text += fmt::format("DS : {}[{}] = dsoftmax[s{}](P, DP)\n", type, dims("bkgts"), suffix);
    text += fmt::format("DQ : {}[{}] = DS *_s{} K\n", type, dims("btkgh"), suffix);
    text += fmt::format("DK : {}[{}] = DS *_{{{}}} Q\n}}\n", type, dims("bskh"), dims("gt"));
    ROOFLINE_TRY(const auto made, splice(ref, text, inputs, {"DQ", "DK", "DV"}, into));
    std::vector<Bound> parts;
    for (std::size_t i = 0; i < each.shape.parts.size(); ++i) {
        Bound part;
        part.shape = each.shape.parts[i];
        // Packed gradients are one array; that of the queries stands for it.
        if (i < arrays && part.shape.is_array()) part.value = made[std::min(i, made.size() - 1)];
        parts.push_back(std::move(part));
    }
    return tuple(std::move(parts), each.shape);
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
