// Which values of a forward program have a gradient.
#include <set>

#include "program/functions.hpp"
#include "program/step_draft.hpp"

namespace roofline::core {

namespace {

bool is_float(const ForwardDraft& forward, ValueId id) {
    return info(forward.program.values[id].type.dtype).kind == DtypeKind::floating;
}

std::vector<bool> sources(const ForwardDraft& forward, bool input_gradients) {
    std::set<ValueId> overwritten;
    for (const Statement& statement : forward.statements) {
        for (const Op& op : statement.ops) {
            if (op.kind == OpKind::apply && op.function == "scatter") overwritten.insert(op.inputs[0].value);
        }
    }
    std::vector<bool> wanted(forward.made_by.size(), false);
    for (ValueId id = 0; id < wanted.size(); ++id) {
        if (forward.made_by[id] != nullptr || !is_float(forward, id)) continue;
        const Value& value = forward.program.values[id];
        wanted[id] = !value.frozen && (value.param || (input_gradients && !overwritten.contains(id)));
    }
    return wanted;
}

}  // namespace

bool passes_gradient(const Op& op, std::size_t input) {
    if (op.kind != OpKind::apply) return true;
    switch (find_function(op.function)->kind) {
        case FunctionKind::gather:
        case FunctionKind::dispatch:
            return input == 0;
        case FunctionKind::scatter:
            return input == 2;
        default:
            return op.function != "where" || input != 0;
    }
}

std::vector<bool> values_with_gradients(const ForwardDraft& forward, bool input_gradients) {
    std::vector<bool> wanted = sources(forward, input_gradients);
    const auto want = [&](const Op& op) {
        if (wanted[op.output.value] || !is_float(forward, op.output.value)) return false;
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
            if (!passes_gradient(op, i) || !wanted[op.inputs[i].value]) continue;
            wanted[op.output.value] = true;
            return true;
        }
        return false;
    };
    // Values that repeats carry form cycles: one more round is needed for every nested repeat.
    for (bool changed = true; changed;) {
        changed = false;
        for (const Statement& statement : forward.statements) {
            for (const Op& op : statement.ops) changed = want(op) || changed;
        }
        for (const ForwardBlock& block : forward.blocks) {
            for (const Carry& carry : block.carries) {
                if (!wanted[carry.after] || wanted[carry.inside]) continue;
                wanted[carry.inside] = true;
                changed = true;
            }
        }
    }
    return wanted;
}

}  // namespace roofline::core
