// What a module returns, and keeps in memory.
#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "import/xla/lower/module_lowering.hpp"

namespace roofline::core {

namespace {

/// In which fuse block each value is made and used: 0 outside of all.
class FuseUses {
public:
    explicit FuseUses(const Program& program) : made_(program.values.size(), 0), uses_(program.values.size()) {
        walk(program.body, 0);
    }

    /// Whether a value is made in a block that uses it, and nothing outside does.
    [[nodiscard]] bool stays_inside(ValueId value) const {
        const std::size_t made = made_[value];
        const auto& used = uses_[value];
        return made != 0 && !used.empty() && std::all_of(used.begin(), used.end(), [&](auto by) { return by == made; });
    }

private:
    void walk(const Block& block, std::size_t fuse) {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                walk(*inner, fuse == 0 && inner->kind == Block::Kind::fuse ? ++fuses_ : fuse);
                continue;
            }
            for (const Op& op : std::get<Statement>(node).ops) {
                made_[op.output.value] = fuse;
                for (const Operand& input : op.inputs) uses_[input.value].push_back(fuse);
            }
        }
    }

    std::vector<std::size_t> made_;
    std::vector<std::vector<std::size_t>> uses_;
    std::size_t fuses_ = 0;
};

}  // namespace

// What a fusion returns and uses, too, would stay inside of it: a second name after it says that it is needed.
void ModuleLowering::keep_results() {
    const FuseUses uses(out_.program);
    std::set<ValueId> kept;
    for (const ValueId result : out_.results) {
        if (!uses.stays_inside(result) || out_.program.values[result].carried || !kept.insert(result).second) continue;
        Value value = out_.program.values[result];
        value.name += "_result";
        Op op;
        op.kind = OpKind::move;
        op.arithmetic = value.type.dtype;
        op.inputs = {{result, {}}};
        for (const Axis& axis : value.type.axes) op.inputs.front().dims.push_back(axis.dim);
        op.output = {out_.program.values.size(), op.inputs.front().dims};
        Statement statement;
        statement.result = op.output.value;
        statement.ops.push_back(std::move(op));
        out_.program.body.nodes.emplace_back(std::move(statement));
        out_.shared_memory.emplace_back(result, out_.program.values.size());
        out_.program.values.push_back(std::move(value));
        out_.made_by.push_back(out_.made_by[result]);
        out_.called_by.push_back(out_.called_by[result]);
        out_.written_by.push_back(out_.written_by[result]);
    }
    out_.program.body.values_after = out_.program.values.size();
}

}  // namespace roofline::core
