#include "program/step_draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "program/functions.hpp"
#include "program/typing.hpp"

namespace roofline::core {

namespace {

class Taking {
public:
    explicit Taking(const Program& forward) : from_(forward) {
        draft_.program.values = forward.values;
        draft_.program.dims = forward.dims;
        draft_.program.sizes = forward.sizes;
        draft_.blocks.emplace_back();
        for (ValueId id = 0; id < forward.values.size(); ++id) now_.push_back(id);
        grow();
    }

    ForwardDraft run() {
        mark_produced(from_.body);
        block(from_.body, 0);
        declarations(from_.values.size(), 0);
        count_uses();
        while (drop_dead_caches()) count_uses();
        drop_unused();
        name_all();
        return std::move(draft_);
    }

private:
    void grow() {
        const std::size_t count = draft_.program.values.size();
        draft_.made_by.resize(count, nullptr);
        draft_.statement.resize(count, nullptr);
        draft_.unit.resize(count, 0);
        draft_.home.resize(count, 0);
        draft_.source_name.resize(count);
    }

    void mark_produced(const Block& block) {
        produced_.resize(from_.values.size(), false);
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                mark_produced(*inner);
                continue;
            }
            for (const Op& op : std::get<Statement>(node).ops) produced_[op.output.value] = true;
        }
    }

    void declarations(ValueId before, std::size_t home) {
        for (; next_ < before; ++next_) {
            if (produced_[next_]) continue;
            draft_.home[next_] = home;
            draft_.blocks[home].nodes.push_back({ForwardNode::Kind::declaration, next_});
        }
    }

    void block(const Block& block, std::size_t at) {
        for (const Node& node : block.nodes) {
            if (const auto* statement = std::get_if<Statement>(&node)) {
                declarations(statement->result, at);
                const std::size_t unit = new_unit(at, false);
                this->statement(*statement, unit, at);
                continue;
            }
            const Block& inner = std::get<Block>(node);
            declarations(inner.values_before, at);
            if (inner.kind == Block::Kind::repeat) {
                repeat(inner, at);
            } else if (inner.kind == Block::Kind::fuse) {
                const std::size_t unit = new_unit(at, true);
                fused(inner, unit, at);
            } else {
                this->block(inner, at);
            }
        }
    }

    void fused(const Block& block, std::size_t unit, std::size_t at) {
        for (const Node& node : block.nodes) {
            if (const auto* statement = std::get_if<Statement>(&node)) {
                declarations(statement->result, at);
                this->statement(*statement, unit, at);
            } else {
                fused(std::get<Block>(node), unit, at);
            }
        }
    }

    std::size_t new_unit(std::size_t at, bool fused) {
        draft_.units.push_back({fused, {}, at});
        const std::size_t unit = draft_.units.size() - 1;
        draft_.blocks[at].nodes.push_back({ForwardNode::Kind::unit, unit});
        return unit;
    }

    void statement(const Statement& statement, std::size_t unit, std::size_t at) {
        draft_.statements.push_back(statement);
        Statement& copy = draft_.statements.back();
        for (Op& op : copy.ops) {
            for (Operand& input : op.inputs) input.value = now_[input.value];
            draft_.made_by[op.output.value] = &op;
            draft_.statement[op.output.value] = &copy;
            draft_.unit[op.output.value] = unit;
            draft_.home[op.output.value] = at;
        }
        draft_.units[unit].statements.push_back(&copy);
        next_ = std::max(next_, statement.result + 1);
    }

    void repeat(const Block& inner, std::size_t at) {
        draft_.blocks.push_back({inner.count, at, {}, {}});
        const std::size_t made = draft_.blocks.size() - 1;
        draft_.blocks[at].nodes.push_back({ForwardNode::Kind::block, made});
        std::vector<std::pair<ValueId, ValueId>> before;  // values from before, and their replacements
        for (const auto& [first, last] : carried(inner)) {
            const ValueId old = now_[first];
            const ValueId pass = copy_of(old, made);
            draft_.blocks[made].carries.push_back({old, pass, last});
            before.emplace_back(first, old);
            now_[first] = pass;
        }
        block(inner, made);
        declarations(inner.values_after, made);
        for (const auto& [id, old] : before) now_[id] = old;
    }

    // Values from before the block that it assigns again, and the values that it assigns last.
    [[nodiscard]] std::vector<std::pair<ValueId, ValueId>> carried(const Block& inner) const {
        std::map<std::string, ValueId> last;
        for (ValueId id = inner.values_before; id < inner.values_after; ++id) {
            if (from_.values[id].carried) last[from_.values[id].name] = id;
        }
        std::vector<std::pair<ValueId, ValueId>> carries;
        for (const auto& [name, id] : last) {
            for (ValueId before = inner.values_before; before-- > 0;) {
                if (from_.values[before].name != name) continue;
                ValueId newest = id;
                for (ValueId later = id + 1; later < inner.values_after; ++later) {
                    if (from_.values[later].name == name) newest = later;
                }
                carries.emplace_back(before, newest);
                break;
            }
        }
        return carries;
    }

    // Returns "X_in : bf16[B, T, D] = X".
    ValueId copy_of(ValueId old, std::size_t at) {
        Value value = draft_.program.values[old];
        value.param = false;
        value.frozen = false;
        value.part.clear();
        value.in_place = false;
        value.intermediate = false;
        const ValueId id = draft_.program.values.size();
        draft_.program.values.push_back(value);
        grow();
        Statement copy;
        Op move;
        move.kind = OpKind::move;
        const std::vector<std::string> dims = dims_of(value.type);
        move.inputs = {{old, dims}};
        move.output = {id, dims};
        move.arithmetic = value.type.dtype;
        copy.ops = {move};
        copy.result = id;
        draft_.statements.push_back(std::move(copy));
        Statement& made = draft_.statements.back();
        const std::size_t unit = new_unit(at, false);
        draft_.units[unit].statements.push_back(&made);
        draft_.made_by[id] = &made.ops.front();
        draft_.statement[id] = &made;
        draft_.unit[id] = unit;
        draft_.home[id] = at;
        return id;
    }

    void count_uses() {
        const std::size_t count = draft_.program.values.size();
        draft_.uses.assign(count, 0);
        draft_.leaves_unit.assign(count, false);
        for (std::size_t unit = 0; unit < draft_.units.size(); ++unit) {
            for (const Statement* statement : draft_.units[unit].statements) {
                for (const Op& op : statement->ops) {
                    for (const Operand& input : op.inputs) {
                        ++draft_.uses[input.value];
                        const bool made = draft_.made_by[input.value] != nullptr;
                        if (!made || draft_.unit[input.value] != unit) draft_.leaves_unit[input.value] = true;
                    }
                }
            }
        }
        for (const ForwardBlock& block : draft_.blocks) {
            for (const Carry& carry : block.carries) draft_.leaves_unit[carry.after] = true;
        }
        for (ValueId id = 0; id < count; ++id) {
            if (draft_.uses[id] == 0) draft_.leaves_unit[id] = true;
        }
    }

    // A cache that is only kept for the next run of the program has no meaning in training.
    bool drop_dead_caches() {
        bool dropped = false;
        for (ForwardBlock& block : draft_.blocks) {
            std::erase_if(block.nodes, [&](const ForwardNode& node) {
                if (node.kind != ForwardNode::Kind::unit || draft_.units[node.id].fused) return false;
                const ValueId result = draft_.units[node.id].statements.front()->result;
                if (!draft_.program.values[result].cache || draft_.uses[result] != 0) return false;
                for (Statement& statement : draft_.statements) {
                    if (statement.result == result) statement.ops.clear();
                }
                dropped = true;
                return true;
            });
        }
        return dropped;
    }

    // Nor has a declared tensor that nothing reads.
    void drop_unused() {
        for (ForwardBlock& block : draft_.blocks) {
            std::erase_if(block.nodes, [&](const ForwardNode& node) {
                return node.kind == ForwardNode::Kind::declaration && draft_.uses[node.id] == 0 &&
                       !draft_.program.values[node.id].param;
            });
        }
    }

    // A value that a repeat carries has one name before it, after it and between iterations; every other value has a
    // separate one.
    void name_all() {
        std::vector<Value>& values = draft_.program.values;
        std::map<ValueId, ValueId> first;  // of values that share a name
        std::set<ValueId> copies;
        for (const ForwardBlock& block : draft_.blocks) {
            for (const Carry& carry : block.carries) {
                const auto chain = first.find(carry.before);
                const ValueId root = chain == first.end() ? carry.before : chain->second;
                first[root] = root;
                first[carry.after] = root;
                copies.insert(carry.inside);
            }
        }
        std::map<std::string, int, std::less<>> taken;
        const auto unique = [&](const std::string& wanted) {
            std::string name = wanted;
            for (int next = 2; taken.contains(name); ++next) name = fmt::format("{}_{}", wanted, next);
            taken.emplace(name, 1);
            return name;
        };
        for (ValueId id = 0; id < values.size(); ++id) {
            Value& value = values[id];
            draft_.source_name[id] = value.name.empty() ? value.label : value.name;
            value.type_follows = false;
            value.cache = false;
            value.in_place = false;
            value.carried = false;
        }
        const auto name_all_that = [&](auto wanted) {
            for (ValueId id = 0; id < values.size(); ++id) {
                if (values[id].intermediate || !wanted(id)) continue;
                values[id].name = unique(draft_.source_name[id] + (copies.contains(id) ? "_in" : ""));
            }
        };
        name_all_that([&](ValueId id) { return first.contains(id) && first[id] == id; });
        name_all_that([&](ValueId id) { return !first.contains(id); });
        for (const auto& [id, root] : first) values[id].name = values[root].name;
        // Contractions inside expressions have a name in case they are stored.
        for (const Statement& statement : draft_.statements) {
            for (const Op& op : statement.ops) {
                if (op.kind != OpKind::contract || op.output.value == statement.result) continue;
                values[op.output.value].name = unique(values[statement.result].name + "_part");
                values[op.output.value].part = statement.part;
            }
        }
    }

    const Program& from_;
    ForwardDraft draft_;
    std::vector<ValueId> now_;  ///< the value that currently stands for each value of the text
    std::vector<bool> produced_;
    ValueId next_ = 0;
};

}  // namespace

Formula ForwardDraft::tensor(ValueId id) const { return Formula::tensor(id, dims_of(program.values[id].type)); }

Formula ForwardDraft::made(ValueId id, const std::vector<bool>& stashed) const {
    const Op& op = *made_by[id];
    std::vector<Formula> operands;
    for (const Operand& input : op.inputs) {
        const bool stands = !program.values[input.value].intermediate || stashed[input.value];
        operands.push_back(stands ? tensor(input.value) : made(input.value, stashed));
    }
    Formula term = Formula::like(op, std::move(operands));
    // A part that is stored has no mask of its own, so the mask that left half of it empty is applied to it.
    return program.values[id].intermediate && stashed[id] ? masked(std::move(term), program.values[id].masks) : term;
}

bool ForwardDraft::inside(std::size_t block, std::size_t outer) const {
    while (block != outer && block != 0) block = blocks[block].parent;
    return block == outer;
}

Result<ForwardDraft> analyse_forward(const Program& forward) {
    if (forward.sharded()) {
        return fail("unsupported", "a sharded program cannot be differentiated",
                    "differentiate the program without subscripts, then shard the step");
    }
    for (const Value& value : forward.values) {
        for (const Axis& axis : value.type.axes) {
            if (!axis.anonymous()) continue;
            auto error = fail("unnamed_dimensions", "a tensor with an unnamed dimension cannot be differentiated",
                              "name the dimension: bf16[B, D=4096] instead of bf16[B, 4096]");
            error.value().place = Place{"", value.span.line, value.span.column, "", 0};
            return error;
        }
    }
    return Taking(forward).run();
}

Names::Names(const Program& program) {
    for (const Value& value : program.values) taken_.emplace(value.name, 1);
}

std::string Names::fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int next = 2; taken_.contains(name) || find_function(name) != nullptr; ++next) {
        name = fmt::format("{}_{}", wanted, next);
    }
    taken_.emplace(name, 1);
    return name;
}

}  // namespace roofline::core
