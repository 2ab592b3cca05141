#include "plan/exchange_layout.hpp"

#include <string>

#include "program/functions.hpp"

namespace roofline::core {

namespace {

void add(const Block& block, ExchangeForm form, StayingAxes& stay) {
    const auto keep = [&](ValueId id) {
        std::vector<std::string>& axes = stay[id];
        if (!has(axes, "expert")) axes.emplace_back("expert");
    };
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            add(*inner, form, stay);
            continue;
        }
        for (const Op& op : std::get<Statement>(node).ops) {
            if (op.kind != OpKind::apply) continue;
            const FunctionKind kind = find_function(op.function)->kind;
            if (kind != FunctionKind::dispatch && kind != FunctionKind::combine) continue;
            const bool out = kind == FunctionKind::dispatch;
            const ValueId tokens = out ? op.inputs.front().value : op.output.value;
            const ValueId rows = out ? op.output.value : op.inputs.front().value;
            keep(form == ExchangeForm::all_to_all ? tokens : rows);
        }
    }
}

}  // namespace

StayingAxes staying_for_exchange(const Program& program, ExchangeForm form, StayingAxes stay) {
    add(program.body, form, stay);
    return stay;
}

}  // namespace roofline::core
