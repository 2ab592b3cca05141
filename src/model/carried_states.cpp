#include "model/carried_states.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "program/each_op.hpp"

namespace roofline::core {

namespace {

class StateCarrier {
public:
    StateCarrier(Program& program, bool resumed) : program_(program), function_(resumed ? "resume" : "leave") {
        std::set<ValueId> used;
        each_op(program_.body, [&](Op& op) {
            used.insert(op.output.value);
            for (const Operand& input : op.inputs) used.insert(input.value);
        });
        for (ValueId id = 0; id < program_.values.size(); ++id) {
            if (program_.values[id].cache && !used.contains(id)) caches_.push_back(id);
        }
    }

    void run() { carry(program_.body); }

private:
    void carry(Block& block) {
        for (Node& node : block.nodes) {
            if (auto* inner = std::get_if<Block>(&node)) {
                carry(*inner);
            } else {
                carry(std::get<Statement>(node));
            }
        }
    }

    void carry(Statement& statement) {
        for (std::size_t i = 0; i < statement.ops.size(); ++i) {
            const Op& op = statement.ops[i];
            if (op.kind != OpKind::apply || (op.function != "scan" && op.function != "conv")) continue;
            const std::optional<Operand> state = state_of(op);
            if (!state) continue;
            const std::size_t argument = op.function == "scan" ? 1 : 0;
            Op behind = behind_state(op, op.inputs[argument], *state);
            statement.ops[i].inputs[argument] = behind.output;
            statement.ops.insert(statement.ops.begin() + static_cast<std::ptrdiff_t>(i), std::move(behind));
            ++i;
        }
    }

    /// Returns the first cache declared before the operation that no operation uses yet and that has the dimensions of
    /// the operation's state.
    std::optional<Operand> state_of(const Op& op) {
        const bool scan = op.function == "scan";
        const std::vector<std::string>& whole = scan ? op.output.dims : op.inputs[0].dims;
        std::set<std::string> wanted(whole.begin(), whole.end());
        for (const std::string& dim : op.along) wanted.erase(dim);
        if (!scan) wanted.insert(op.inputs[1].dims.begin(), op.inputs[1].dims.end());
        const auto found = std::find_if(caches_.begin(), caches_.end(), [&](ValueId id) {
            const std::vector<std::string> dims = dims_of(program_.values[id].type);
            return id < op.output.value && std::set<std::string>(dims.begin(), dims.end()) == wanted;
        });
        if (found == caches_.end()) return {};
        const ValueId id = *found;
        caches_.erase(found);
        return Operand{id, dims_of(program_.values[id].type)};
    }

    Op behind_state(const Op& op, const Operand& from, const Operand& state) {
        Value value;
        value.type.dtype = program_.values[from.value].type.dtype;
        for (const std::string& dim : from.dims) value.type.axes.push_back({dim, {}});
        value.part = program_.values[op.output.value].part;
        value.intermediate = true;
        value.span = op.span;
        program_.values.push_back(std::move(value));
        Op behind;
        behind.kind = OpKind::apply;
        behind.function = function_;
        behind.inputs = {from, state};
        behind.output = {program_.values.size() - 1, from.dims};
        behind.along = op.along;
        behind.arithmetic = op.arithmetic;
        behind.span = op.span;
        return behind;
    }

    Program& program_;
    const char* function_;
    std::vector<ValueId> caches_;  ///< caches that no operation uses, in the order of the text
};

}  // namespace

void carry_states(Program& program, bool resumed) { StateCarrier(program, resumed).run(); }

}  // namespace roofline::core
