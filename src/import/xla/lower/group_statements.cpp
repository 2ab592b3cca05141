#include <algorithm>
#include <limits>
#include <ranges>
#include <vector>

#include "import/xla/lower/module_lowering.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

/// What a statement may be fused with.
enum class Fusible : std::uint8_t {
    light,  ///< elementwise, a movement or a reduction: with what uses it
    heavy,  ///< a matmul: with operations around it, but not with another
    alone,  ///< a collective, or work of which nothing is known
};

Fusible fusible(const Statement& statement) {
    if (!statement.messages.empty()) return Fusible::alone;
    bool heavy = false;
    for (const Op& op : statement.ops) {
        heavy = heavy || op.kind == OpKind::contract;
        if (op.kind != OpKind::apply) continue;
        const FunctionKind kind = find_function(op.function)->kind;
        if (kind == FunctionKind::opaque || kind == FunctionKind::receive) return Fusible::alone;
    }
    return heavy ? Fusible::heavy : Fusible::light;
}

// Whether a statement only moves numbers, so that a kernel can read what it reads in its place.
bool moves(const Statement& statement) {
    return statement.messages.empty() && std::all_of(statement.ops.begin(), statement.ops.end(), [](const Op& op) {
               return op.kind == OpKind::apply && (op.function == "slice" || op.function == "transpose");
           });
}

// Attention: a block of statements with matmuls that is one kernel already.
bool is_attention(const Block& block) {
    return std::any_of(block.nodes.begin(), block.nodes.end(), [](const Node& node) {
        const auto* statement = std::get_if<Statement>(&node);
        return statement != nullptr && fusible(*statement) == Fusible::heavy;
    });
}

/// Where a value is used: the node of its run, or somewhere else.
struct ValueUses {
    std::size_t run = nowhere;
    std::vector<std::size_t> nodes;  ///< of the run, each once, in order
    bool elsewhere = false;
};

class StatementGroups {
public:
    explicit StatementGroups(Program& program) : program_(program), uses_(program.values.size()) {}

    void run() {
        count(program_.body);
        next_run_ = 0;
        group(program_.body);
    }

private:
    // Runs are numbered in the order in which blocks are entered; a nested block ends one and begins another.
    void count(const Block& block) {
        std::size_t run = next_run_++;
        for (std::size_t i = 0; i < block.nodes.size(); ++i) {
            if (const auto* statement = std::get_if<Statement>(&block.nodes[i])) {
                use(*statement, run, i);
                continue;
            }
            const Block& inner = std::get<Block>(block.nodes[i]);
            if (inner.kind == Block::Kind::fuse) {
                const bool reads_in_place = is_attention(inner);
                for (const Node& node : inner.nodes) {
                    use(std::get<Statement>(node), reads_in_place ? run : nowhere, i);
                }
                continue;
            }
            count(inner);
            run = next_run_++;
        }
    }

    void use(const Statement& statement, std::size_t run, std::size_t node) {
        for (const Op& op : statement.ops) {
            // Rows that are written into an array have to be in memory before the array is read.
            const bool updates = op.kind == OpKind::apply && find_function(op.function)->kind == FunctionKind::scatter;
            if (updates) uses_[statement.result].elsewhere = true;
            for (const Operand& input : op.inputs) {
                ValueUses& uses = uses_[input.value];
                if (run == nowhere || (uses.run != nowhere && uses.run != run)) {
                    uses.elsewhere = true;
                    continue;
                }
                uses.run = run;
                if (uses.nodes.empty() || uses.nodes.back() != node) uses.nodes.push_back(node);
            }
        }
    }

    void group(Block& block) {
        std::vector<Node> out;
        std::vector<std::size_t> run;  // indices of statements
        std::size_t number = next_run_++;
        const auto flush = [&] {
            write(block, run, number, out);
            run.clear();
        };
        for (std::size_t i = 0; i < block.nodes.size(); ++i) {
            if (std::holds_alternative<Statement>(block.nodes[i])) {
                run.push_back(i);
                continue;
            }
            Block& inner = std::get<Block>(block.nodes[i]);
            if (inner.kind == Block::Kind::fuse) {
                run.push_back(i);
                continue;
            }
            flush();
            group(inner);
            out.push_back(std::move(block.nodes[i]));
            number = next_run_++;
        }
        flush();
        block.nodes = std::move(out);
    }

    // A statement joins the group of all statements that use its result. Going backwards, that of its users is known.
    void write(Block& block, const std::vector<std::size_t>& run, std::size_t number, std::vector<Node>& out) {
        if (run.empty()) return;
        const std::size_t from = run.front();
        const std::size_t count = run.back() + 1 - from;
        std::vector<std::size_t> group_of(count, nowhere);  // by node: the last node of its group
        std::vector<bool> heavy(count, false);              // by the last node of a group: whether it has a matmul
        std::vector<bool> alone(count, false);
        for (const std::size_t at : std::views::reverse(run)) {
            group_of[at - from] = at;
            const auto* statement = std::get_if<Statement>(&block.nodes[at]);
            const Fusible own = statement != nullptr ? fusible(*statement) : Fusible::alone;
            heavy[at - from] = own == Fusible::heavy;
            alone[at - from] = own == Fusible::alone;
            if (own == Fusible::alone) continue;
            const std::size_t into = joined(statement->result, number, group_of, from);
            if (into == nowhere) continue;
            // Attention reads slices in place, and nothing else joins it.
            const bool single = std::holds_alternative<Statement>(block.nodes[into]);
            if (single ? alone[into - from] : !moves(*statement)) continue;
            if (own == Fusible::heavy && heavy[into - from]) continue;
            group_of[at - from] = into;
            heavy[into - from] = heavy[into - from] || own == Fusible::heavy;
        }
        std::vector<std::vector<std::size_t>> groups(count);  // by their last node
        for (const std::size_t at : run) groups[group_of[at - from] - from].push_back(at);
        for (const std::size_t last : run) {
            const std::vector<std::size_t>& members = groups[last - from];
            if (members.empty()) continue;
            if (members.size() == 1) {
                out.push_back(std::move(block.nodes[last]));
                continue;
            }
            Block fused;
            fused.kind = Block::Kind::fuse;
            fused.values_before = fused.values_after = block.values_after;
            for (const std::size_t member : members) {
                if (auto* inner = std::get_if<Block>(&block.nodes[member])) {
                    for (Node& node : inner->nodes) fused.nodes.push_back(std::move(node));
                    continue;
                }
                fused.nodes.push_back(std::move(block.nodes[member]));
            }
            out.emplace_back(std::move(fused));
        }
    }

    // `group_of` begins at the node `from`.
    [[nodiscard]] std::size_t joined(ValueId value, std::size_t number, const std::vector<std::size_t>& group_of,
                                     std::size_t from) const {
        const ValueUses& uses = uses_[value];
        if (uses.elsewhere || uses.run != number || uses.nodes.empty() || program_.values[value].carried)
            return nowhere;
        std::size_t group = nowhere;
        for (const std::size_t node : uses.nodes) {
            const bool there = node >= from && node - from < group_of.size();
            const std::size_t found = there ? group_of[node - from] : nowhere;
            if (found == nowhere || (group != nowhere && found != group)) return nowhere;
            group = found;
        }
        return group;
    }

    Program& program_;
    std::vector<ValueUses> uses_;
    std::size_t next_run_ = 0;
};

}  // namespace

void group_statements(Program& program) { StatementGroups(program).run(); }

}  // namespace roofline::core
