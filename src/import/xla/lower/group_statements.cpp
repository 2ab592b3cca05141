#include <algorithm>
#include <limits>
#include <ranges>
#include <vector>

#include "import/xla/lower/module_lowering.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

/// The elements along a dimension that one tile of a matmul holds: the columns of the widest tile of GEMM libraries.
constexpr std::int64_t widest_tile = 256;

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

// Whether a statement computes each element of its result from those at the same place of its operands.
bool is_elementwise(const Statement& statement) {
    return statement.messages.empty() && std::all_of(statement.ops.begin(), statement.ops.end(), [](const Op& op) {
               if (op.kind == OpKind::move) return true;
               return op.kind == OpKind::apply && find_function(op.function)->kind == FunctionKind::map;
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
    explicit StatementGroups(Program& program)
        : program_(program),
          uses_(program.values.size()),
          reduced_(program.values.size()),
          epilogue_(program.values.size(), false) {}

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
        find_epilogues(block, run);
        for (const std::size_t at : std::views::reverse(run)) {
            group_of[at - from] = at;
            const auto* statement = std::get_if<Statement>(&block.nodes[at]);
            const Fusible own = statement != nullptr ? fusible(*statement) : Fusible::alone;
            heavy[at - from] = own == Fusible::heavy;
            alone[at - from] = own == Fusible::alone;
            if (own == Fusible::alone) continue;
            const auto may_join = [&](std::size_t into) {
                if (into == nowhere) return false;
                // Attention reads slices in place, and nothing else joins it.
                const bool single = std::holds_alternative<Statement>(block.nodes[into]);
                if (single ? alone[into - from] : !moves(*statement)) return false;
                if (own == Fusible::heavy && heavy[into - from]) return false;
                return !(epilogue_[statement->result] && is_reduced(statement->result));
            };
            const std::size_t into = joined(statement->result, number, group_of, from);
            const bool joins = may_join(into);
            if (joins) {
                group_of[at - from] = into;
                heavy[into - from] = heavy[into - from] || own == Fusible::heavy;
            }
            if (own == Fusible::light) follow_reductions(*statement, joins);
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

    // Finds the results of matmuls, and of the elementwise operations after one that leave no more bytes than they
    // find: the last of them is what the matmul's kernel writes where a reduction follows.
    void find_epilogues(const Block& block, const std::vector<std::size_t>& run) {
        for (const std::size_t at : run) {
            const auto* statement = std::get_if<Statement>(&block.nodes[at]);
            if (statement == nullptr) continue;
            const Fusible own = fusible(*statement);
            epilogue_[statement->result] =
                own == Fusible::heavy ||
                (own == Fusible::light && is_elementwise(*statement) && ends_epilogue(*statement));
        }
    }

    [[nodiscard]] bool ends_epilogue(const Statement& statement) const {
        return std::any_of(statement.ops.begin(), statement.ops.end(), [&](const Op& op) {
            return std::any_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& input) {
                const ValueUses& uses = uses_[input.value];
                return epilogue_[input.value] && !uses.elsewhere && uses.nodes.size() == 1 &&
                       bytes(statement.result) <= bytes(input.value);
            });
        });
    }

    [[nodiscard]] double bytes(ValueId value) const {
        const auto number = bytes_of(program_.local_dims, program_.values[value]).evaluate(program_.sizes);
        return number ? number->to_double() : std::numeric_limits<double>::infinity();
    }

    [[nodiscard]] bool is_reduced(ValueId value) const {
        const std::vector<bool>& reduced = reduced_[value];
        return std::find(reduced.begin(), reduced.end(), true) != reduced.end();
    }

    // Notes which dimensions of a statement's operands its kernel reduces: those of its own reductions and, if it joins
    // the kernel that uses its result, those that this one reduces.
    void follow_reductions(const Statement& statement, bool joins) {
        if (!joins) reduced_[statement.result].clear();
        for (const Op& op : std::views::reverse(statement.ops)) {
            const bool reduces = needs_whole_rows(op);
            const std::vector<bool> after = dims_of(reduced_[op.output.value], op.output.dims.size());
            const bool moved = op.kind == OpKind::apply && op.function != "iota" &&
                               find_function(op.function)->kind == FunctionKind::rearrange &&
                               std::find(after.begin(), after.end(), true) != after.end();
            for (const Operand& input : op.inputs) {
                std::vector<bool> before(input.dims.size(), moved);  // dimensions have other names in another place
                for (std::size_t i = 0; i < before.size(); ++i) {
                    const auto same = std::find(op.output.dims.begin(), op.output.dims.end(), input.dims[i]);
                    if (same != op.output.dims.end() && after[static_cast<std::size_t>(same - op.output.dims.begin())])
                        before[i] = true;
                    if (reduces && has(op.along, input.dims[i])) before[i] = true;
                }
                mark(input.value, before);
            }
        }
    }

    // Whether an operation needs more elements along its dimensions than a tile of a matmul holds.
    [[nodiscard]] bool needs_whole_rows(const Op& op) const {
        if (op.kind != OpKind::apply) return false;
        const FunctionInfo& function = *find_function(op.function);
        const bool whole = function.kind == FunctionKind::reduce ||
                           (function.kind == FunctionKind::keep && function.positions_back == 0);
        if (!whole) return false;
        std::int64_t elements = 1;
        for (const std::string& dim : op.along) {
            const auto size = program_.sizes.find(dim);
            if (size == program_.sizes.end() || size->second > widest_tile) return true;
            elements *= std::max<std::int64_t>(size->second, 1);
            if (elements > widest_tile) return true;
        }
        return false;
    }

    // An array that is used under other dimensions is reduced as a whole.
    [[nodiscard]] static std::vector<bool> dims_of(const std::vector<bool>& reduced, std::size_t dims) {
        if (reduced.size() == dims) return reduced;
        return std::vector<bool>(dims, std::find(reduced.begin(), reduced.end(), true) != reduced.end());
    }

    void mark(ValueId value, const std::vector<bool>& dims) {
        if (std::find(dims.begin(), dims.end(), true) == dims.end()) return;
        std::vector<bool>& reduced = reduced_[value];
        const std::vector<bool> more = dims_of(dims, program_.values[value].type.axes.size());
        reduced.resize(more.size(), false);
        for (std::size_t i = 0; i < more.size(); ++i) {
            if (more[i]) reduced[i] = true;
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
    std::vector<std::vector<bool>> reduced_;  // by value: which of its dimensions the kernel that uses it reduces
    std::vector<bool> epilogue_;              // by value: the result of a matmul and of elementwise operations after it
    std::size_t next_run_ = 0;
};

}  // namespace

void group_statements(Program& program) { StatementGroups(program).run(); }

}  // namespace roofline::core
