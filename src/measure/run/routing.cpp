#include "measure/run/routing.hpp"

#include <algorithm>
#include <vector>

#include "program/functions.hpp"

namespace roofline::core {

namespace {

void collect_ops(const Block& block, std::vector<const Op*>& ops) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            collect_ops(*inner, ops);
            continue;
        }
        for (const Op& op : std::get<Statement>(node).ops) ops.push_back(&op);
    }
}

bool moves_rows_of_experts(const Op& op) {
    if (op.kind != OpKind::apply) return false;
    const FunctionKind kind = find_function(op.function)->kind;
    return kind == FunctionKind::dispatch || kind == FunctionKind::combine || kind == FunctionKind::match;
}

bool same_dims(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const std::string& dim) { return has(b, dim); });
}

/// The choices of the last dispatch among these operations whose groups and choices have the dimensions of `op`.
std::optional<Operand> of_dispatch(const std::vector<const Op*>& before, const Op& op) {
    for (std::size_t i = before.size(); i-- > 0;) {
        const Op& other = *before[i];
        if (other.function != "dispatch" || !std::equal(other.along.begin(), other.along.end(), op.along.begin()))
            continue;
        if (same_dims(other.inputs[1].dims, op.inputs.back().dims)) return other.inputs[1];
    }
    return std::nullopt;
}

}  // namespace

std::optional<Operand> choices_of(const Program& program, const Op& op) {
    if (!moves_rows_of_experts(op)) return std::nullopt;
    if (op.function == "dispatch" || op.function == "collect") return op.inputs[1];
    std::vector<const Op*> ops;
    collect_ops(program.body, ops);
    const auto here =
        std::find_if(ops.begin(), ops.end(), [&](const Op* other) { return other->output.value == op.output.value; });
    ops.erase(here, ops.end());
    if (op.function != "combine") {
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (ops[i]->function != "combine" || ops[i]->inputs[1].value != op.inputs.back().value) continue;
            return of_dispatch({ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(i)}, *ops[i]);
        }
    }
    return of_dispatch(ops, op);
}

}  // namespace roofline::core
