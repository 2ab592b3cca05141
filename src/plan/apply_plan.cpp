#include "plan/apply_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "layout/op_strategies.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

// The role of a dimension. Names of dimensions that only some layers have carry a number behind the letter.
std::string_view role_of(const DimRoles& roles, std::string_view dim) {
    auto found = roles.find(dim);
    if (found == roles.end()) {
        while (!dim.empty() && dim.back() >= '0' && dim.back() <= '9') dim.remove_suffix(1);
        found = roles.find(dim);
    }
    return found == roles.end() ? std::string_view{} : std::string_view(found->second);
}

class PlanWriter {
public:
    PlanWriter(const Program& program, const DimRoles& roles, const Plan& plan) : roles_(roles), plan_(plan) {
        result_.program = program;
    }
    // A state is declared and then assigned, so two values have its name.
    PlanWriter(const TrainingProgram& step, const DimRoles& roles, const Plan& plan)
        : PlanWriter(step.program, roles, plan) {
        for (const StepTensor& tensor : step.tensors)
            kinds_.emplace(step.program.values[tensor.value].name, tensor.role);
    }

    Result<PlannedProgram> run() {
        ROOFLINE_CHECK(cut_heads());
        ROOFLINE_CHECK(check_dims());
        result_.program.mesh = mesh_of(plan_, cut_);
        note_outside(result_.program.body);
        const std::set<ValueId> partial = partial_values();
        const std::set<ValueId> summed = summed_over_tokens();
        for (ValueId id = 0; id < result_.program.values.size(); ++id) {
            Value& value = result_.program.values[id];
            if (value.intermediate || value.type_follows) continue;
            if (weight(value)) {
                place_weight(value);
                auto staying = present({"tensor", "queries", "expert", "sequence", "sequence2", "context"});
                // Parameters that are sharded at least for the optimizer are gathered after the update.
                const std::vector<std::string> replicas =
                    plan_.zero > 0 ? replicas_of(value) : std::vector<std::string>{};
                const auto shared = [&](const std::string& axis) { return has(replicas, axis); };
                staying.erase(std::remove_if(staying.begin(), staying.end(), shared), staying.end());
                if (!staying.empty()) result_.stay.emplace(id, std::move(staying));
            } else {
                place_activation(value, !outside_.contains(id));
                if (partial.contains(id)) leave_partial(value);
                if (summed.contains(id)) append(value.type.unreduced, present({"context"}));
            }
        }
        return std::move(result_);
    }

private:
    // The operand of a matmul with a weight has the sharding used outside of attention even if it has heads, because
    // that is how it is kept for the gradient of the weight.
    void note_outside(const Block& block) {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                note_outside(*inner);
                continue;
            }
            for (const Op& op : std::get<Statement>(node).ops) {
                const auto weighs = [&](const Operand& operand) { return result_.program.values[operand.value].param; };
                if (op.kind != OpKind::contract || std::none_of(op.inputs.begin(), op.inputs.end(), weighs)) continue;
                for (const Operand& input : op.inputs) outside_.insert(input.value);
            }
        }
    }

    // Whether chips that split columns have partial sums of this contraction.
    [[nodiscard]] bool sums_columns(const Op& op) const {
        if (op.kind != OpKind::contract) return false;
        return std::any_of(op.along.begin(), op.along.end(),
                           [&](const std::string& dim) { return role_of(roles_, dim) == "columns"; });
    }

    static bool combines(const Op& op) {
        return op.kind == OpKind::apply && find_function(op.function)->kind == FunctionKind::combine;
    }

    static bool matches(const Op& op) {
        return op.kind == OpKind::apply && find_function(op.function)->kind == FunctionKind::match;
    }

    // Whether a statement makes partial sums: it contracts over columns, sums over them, or combines unreduced rows of
    // experts, or rows of experts that lie over the tensor axis.
    [[nodiscard]] bool makes_partial(const Statement& statement, const std::set<ValueId>& partial) const {
        return std::all_of(statement.ops.begin(), statement.ops.end(), [&](const Op& op) {
            if (combines(op)) return plan_.experts_over_tensor || partial.contains(op.inputs.front().value);
            if (plan_.experts_over_tensor && in_groups(op.output.value)) return false;
            return sums_columns(op) || (op.kind == OpKind::apply && op.function == "add");
        });
    }

    // Whether a value has the rows that experts were given.
    [[nodiscard]] bool in_groups(ValueId id) const {
        const Value& value = result_.program.values[id];
        return has_role(value, "experts") && has_role(value, "rows");
    }

    // Whether a statement completes a value that it reads: it combines or weights rows of experts, or adds other
    // partial sums.
    [[nodiscard]] bool completes(const Statement& statement, ValueId value) const {
        return std::all_of(statement.ops.begin(), statement.ops.end(), [&](const Op& op) {
            const auto reads = [&](const Operand& input) { return input.value == value; };
            if (std::none_of(op.inputs.begin(), op.inputs.end(), reads)) return true;
            const bool once = std::count_if(op.inputs.begin(), op.inputs.end(), reads) == 1;
            if (combines(op) || matches(op)) return once && op.inputs.front().value == value;
            return once && op.kind == OpKind::apply && op.function == "add" && statement.ops.size() == 2 &&
                   sums_columns(statement.ops.front());
        });
    }

    // Results of experts need not be completed before they are combined: an all-reduce per token is enough, instead of
    // one per expert of each token.
    [[nodiscard]] std::set<ValueId> partial_values() const {
        std::vector<const Statement*> statements;
        collect(result_.program.body, statements);
        std::map<ValueId, std::vector<const Statement*>> readers;
        std::set<ValueId> combined;  // combined rows, and values computed from them
        for (const Statement* statement : statements) {
            for (const Op& op : statement->ops) {
                for (const Operand& input : op.inputs) readers[input.value].push_back(statement);
                if (!combines(op)) continue;
                combined.insert(op.inputs.front().value);
                combined.insert(statement->result);
            }
        }
        std::set<ValueId> partial;
        for (const Statement* statement : statements) {
            const ValueId made = statement->result;
            const auto read = readers.find(made);
            if (!combined.contains(made) || read == readers.end() || !makes_partial(*statement, partial)) continue;
            const bool completed = std::all_of(read->second.begin(), read->second.end(),
                                               [&](const Statement* reader) { return completes(*reader, made); });
            if (completed) partial.insert(made);
        }
        return partial;
    }

    // Gradients of activations that all tokens read, such as the keys and values of an image: each chip of `context`
    // has the sum over its own tokens. The gradients of weights that follow from them are linear in them and are
    // reduced in the end, so these sums need not be completed.
    [[nodiscard]] std::set<ValueId> summed_over_tokens() const {
        std::vector<const Statement*> statements;
        collect(result_.program.body, statements);
        std::map<ValueId, std::vector<const Statement*>> readers;
        for (const Statement* statement : statements) {
            for (const Op& op : statement->ops) {
                for (const Operand& input : op.inputs) readers[input.value].push_back(statement);
            }
        }
        std::set<ValueId> summed;
        for (const Statement* statement : statements) {
            std::set<ValueId> chain;
            if (sums_tokens(*statement) && may_stay_partial(statement->result, readers, chain)) summed.merge(chain);
        }
        return summed;
    }

    [[nodiscard]] bool sums_tokens(const Statement& statement) const {
        for (std::size_t i = 0; i < statement.ops.size(); ++i) {
            const Op& op = statement.ops[i];
            const bool sums = op.kind == OpKind::contract &&
                              std::any_of(op.along.begin(), op.along.end(),
                                          [&](const std::string& dim) { return role_of(roles_, dim) == "tokens"; });
            if (sums && stays_open(statement, i + 1, op.output.value)) return true;
        }
        return false;
    }

    // Whether all that is computed from a value is linear in it and ends in gradients of weights. Adds the value and
    // the activations between them to `chain`.
    [[nodiscard]] bool may_stay_partial(ValueId id, const std::map<ValueId, std::vector<const Statement*>>& readers,
                                        std::set<ValueId>& chain) const {
        const Value& value = result_.program.values[id];
        if (kind_of(value) == StepRole::gradient) return true;
        if (weight(value) || has_role(value, "tokens") || has_role(value, "context") || has_role(value, "rows"))
            return false;
        if (!chain.insert(id).second) return true;
        const auto read = readers.find(id);
        return read != readers.end() && std::all_of(read->second.begin(), read->second.end(), [&](const auto* reader) {
                   return stays_open(*reader, 0, id) && may_stay_partial(reader->result, readers, chain);
               });
    }

    static void collect(const Block& block, std::vector<const Statement*>& statements) {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                collect(*inner, statements);
            } else {
                statements.push_back(&std::get<Statement>(node));
            }
        }
    }

    [[nodiscard]] std::string_view role(const Axis& axis) const { return role_of(roles_, axis.dim); }

    [[nodiscard]] bool has_role(const Value& value, std::string_view wanted) const {
        return std::any_of(value.type.axes.begin(), value.type.axes.end(),
                           [&](const Axis& axis) { return role(axis) == wanted; });
    }

    [[nodiscard]] std::optional<std::int64_t> size_of_role(std::string_view wanted) const {
        return core::size_of_role(roles_, result_.program.sizes, wanted);
    }

    // A weight, or an optimizer state of one: it does not grow with the number of tokens.
    [[nodiscard]] bool weight(const Value& value) const {
        const StepRole kind = kind_of(value);
        if (value.param || kind == StepRole::gradient || kind == StepRole::optimizer_state) return true;
        return std::none_of(value.type.axes.begin(), value.type.axes.end(), [&](const Axis& axis) {
            const std::string_view what = role(axis);
            return what == "sequences" || what == "tokens" || what == "context" || what == "rows";
        });
    }

    [[nodiscard]] StepRole kind_of(const Value& value) const {
        const auto known = kinds_.find(value.name);
        if (known != kinds_.end()) return known->second;
        return value.param ? StepRole::param : StepRole::activation;
    }

    Status cut_heads() {
        ROOFLINE_TRY(cut_, core::cut_heads(plan_, size_of_role("heads"), size_of_role("queries").value_or(1)));
        for (const auto& [axis, ways, over] : {std::tuple("tensor", plan_.tensor, cut_.tensor_queries),
                                               std::tuple("sequence", plan_.sequence, cut_.sequence_queries)}) {
            if (over == 1) continue;
            result_.notes.push_back(
                fmt::format("{}={} exceeds the {} KV heads: each of them is replicated on {} chips, which "
                            "split its query heads",
                            axis, ways, *size_of_role("heads"), over));
        }
        return {};
    }

    Status check_dims() const {
        const auto need = [&](std::string_view axis, std::int64_t ways, std::string_view wanted,
                              std::string_view what) -> Status {
            if (ways == 1 || size_of_role(wanted)) return {};
            return fail("bad_plan", fmt::format("{}={}, but the model has no {}", axis, ways, what),
                        fmt::format("leave out `{}`", axis));
        };
        ROOFLINE_CHECK(need("expert", plan_.expert, "experts", "experts"));
        ROOFLINE_CHECK(need("sequence", plan_.sequence, "heads", "heads"));
        const std::int64_t degree = plan_.expert * (plan_.experts_over_tensor ? plan_.tensor : 1);
        const auto experts = size_of_role("experts");
        if (plan_.experts_over_tensor) ROOFLINE_CHECK(need("expert", degree, "experts", "experts"));
        if (experts && degree > *experts) {
            return fail("bad_plan", fmt::format("expert={}, but there are {} experts", degree, *experts),
                        "use the remaining factor for data, fsdp or tensor");
        }
        return {};
    }

    // Those of these axes that the mesh has.
    [[nodiscard]] std::vector<std::string> present(std::initializer_list<std::string_view> names) const {
        std::vector<std::string> axes;
        for (const std::string_view name : names) {
            const auto& mesh = result_.program.mesh;
            const bool there =
                std::any_of(mesh.begin(), mesh.end(), [&](const MeshAxis& axis) { return axis.name == name; });
            if (there) axes.emplace_back(name);
        }
        return axes;
    }

    // The axes over which experts are split.
    [[nodiscard]] std::vector<std::string> expert_axes() const {
        return plan_.experts_over_tensor ? present({"expert", "tensor", "queries"}) : present({"expert"});
    }

    [[nodiscard]] std::int64_t ways(const std::vector<std::string>& axes) const {
        std::int64_t ways = 1;
        for (const MeshAxis& axis : result_.program.mesh) {
            if (has(axes, axis.name)) ways *= axis.size;
        }
        return ways;
    }

    static void append(std::vector<std::string>& axes, std::vector<std::string> more) {
        axes.insert(axes.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }

    // Splits heads, or the first columns of a tensor that has none. Returns whether anything is split.
    bool place_tensor(Value& value, bool inside_attention) const {
        bool placed = false;
        for (Axis& axis : value.type.axes) {
            if (role(axis) == "heads") {
                axis.mesh = inside_attention ? present({"tensor", "sequence"}) : present({"tensor"});
            } else if (role(axis) == "queries") {
                axis.mesh = inside_attention ? present({"queries", "sequence2"}) : present({"queries"});
            } else {
                continue;
            }
            placed = true;
        }
        for (Axis& axis : value.type.axes) {
            if (placed || role(axis) != "columns") continue;
            axis.mesh = present({"tensor", "queries"});
            placed = true;
        }
        return placed;
    }

    void place_weight(Value& value) const {
        if (of_experts(value)) value.type.axes.front().mesh = expert_axes();
        if (!of_experts(value) || !plan_.experts_over_tensor) place_tensor(value, false);
        const StepRole kind = kind_of(value);
        const bool shared = plan_.zero >= shared_from(kind);
        share_out(value, shared ? replicas_of(value) : present({"fsdp"}));
        // Gradients that are not sharded stay partial sums to the end of the step.
        if (kind != StepRole::gradient || shared) return;
        value.type.unreduced = replicas_of(value);
        value.type.unreduced.erase(
            std::remove(value.type.unreduced.begin(), value.type.unreduced.end(), std::string("fsdp")),
            value.type.unreduced.end());
    }

    // The ZeRO stage from which on such tensors are sharded.
    static int shared_from(StepRole kind) { return kind == StepRole::param ? 3 : kind == StepRole::gradient ? 2 : 1; }

    // The axes whose members see different tokens and have the same weight.
    [[nodiscard]] std::vector<std::string> replicas_of(const Value& weight) const {
        return of_experts(weight) ? present({"fsdp", "data", "context"})
                                  : present({"fsdp", "data", "expert", "context", "sequence", "sequence2"});
    }

    // The experts' own tensors are stacked along the first dimension; in the weights of a router the experts are the
    // last dimension.
    [[nodiscard]] bool of_experts(const Value& value) const {
        return value.type.axes.size() > 1 && role(value.type.axes.front()) == "experts";
    }

    // Splits the width, or if that is not possible the largest whole dimension, or nothing.
    void share_out(Value& value, const std::vector<std::string>& over) const {
        if (over.empty()) return;
        Axis* best = nullptr;
        std::int64_t most = 0;
        for (Axis& axis : value.type.axes) {
            if (!axis.mesh.empty()) continue;
            const auto size = result_.program.sizes.find(axis.dim);
            if (size == result_.program.sizes.end()) continue;
            if (role(axis) == "width") {
                best = &axis;
                break;
            }
            if (size->second <= most) continue;
            best = &axis;
            most = size->second;
        }
        if (best != nullptr) append(best->mesh, over);
    }

    void place_activation(Value& value, bool inside) const {
        const bool sequences = has_role(value, "sequences");
        // places of experts for the tokens of each sequence (limit_experts()) are rows of these experts
        const bool places = sequences && has_role(value, "experts") && !has_role(value, "tokens");
        const bool rows = places || has_role(value, "rows");
        if (!sequences && !rows) return;  // positions: they are small, and wanted whole
        const bool heads = inside && (has_role(value, "heads") || has_role(value, "queries"));
        const bool own = plan_.experts_over_tensor && rows && has_role(value, "experts");
        const bool split = own || place_tensor(value, heads);
        for (Axis& axis : value.type.axes) {
            const std::string_view what = role(axis);
            if (what == "sequences")
                append(axis.mesh, places ? present({"data", "fsdp"}) : present({"data", "fsdp", "expert"}));
            if (what == "rows") append(axis.mesh, present({"context", "data", "fsdp"}));
            if (what == "experts" && rows) append(axis.mesh, expert_axes());
            if (what == "context" && !has_role(value, "tokens")) append(axis.mesh, present({"context"}));
            if (what == "tokens") {
                append(axis.mesh, present({"context"}));
                if (!heads) append(axis.mesh, present({"sequence", "sequence2"}));
                if (!split) spread_tokens(axis);
            }
        }
    }

    void leave_partial(Value& value) const {
        value.type.unreduced = present({"tensor", "queries"});
        for (Axis& axis : value.type.axes) {
            std::erase_if(axis.mesh, [&](const std::string& name) { return has(value.type.unreduced, name); });
        }
    }

    // A tensor that no other axis splits is split over `tensor` by its tokens, if they divide evenly.
    void spread_tokens(Axis& axis) const {
        if (!plan_.tensor_tokens) return;
        std::vector<std::string> all = axis.mesh;
        append(all, present({"tensor", "queries"}));
        const auto size = result_.program.sizes.find(axis.dim);
        if (size != result_.program.sizes.end() && size->second % ways(all) == 0) axis.mesh = std::move(all);
    }

    const DimRoles& roles_;
    const Plan& plan_;
    PlannedProgram result_;
    std::map<std::string, StepRole, std::less<>> kinds_;  ///< of a training step's tensors, by name
    std::set<ValueId> outside_;                           ///< operands of matmuls with weights
    HeadCut cut_;
};

std::string head_degrees(std::int64_t heads, std::int64_t queries) {
    std::vector<std::int64_t> ways;
    for (std::int64_t way = 1; way <= heads * queries && ways.size() < 16; ++way) {
        if (queries % (way / std::gcd(heads, way)) == 0) ways.push_back(way);
    }
    return fmt::format("{}", fmt::join(ways, ", "));
}

}  // namespace

std::optional<std::int64_t> size_of_role(const DimRoles& roles, const Sizes& sizes, std::string_view wanted) {
    for (const auto& [dim, size] : sizes) {
        if (role_of(roles, dim) == wanted) return size;
    }
    return std::nullopt;
}

Result<HeadCut> cut_heads(const Plan& plan, std::optional<std::int64_t> heads, std::int64_t queries) {
    HeadCut parts;
    if (!heads) return parts;
    std::int64_t left = *heads;
    std::int64_t left_queries = queries;
    const auto cut = [&](std::string_view axis, std::int64_t ways, std::int64_t& over_queries) -> Status {
        const std::int64_t over_heads = std::gcd(left, ways);
        over_queries = ways / over_heads;
        if (left_queries % over_queries != 0) {
            const bool first = left * left_queries == *heads * queries;
            return fail("bad_plan",
                        fmt::format("{}={} does not divide {} heads ({} KV heads, {} query heads per KV head){}", axis,
                                    ways, left * left_queries, left, left_queries,
                                    first ? "" : fmt::format(", which tensor={} leaves", plan.tensor)),
                        fmt::format("possible degrees are {}", head_degrees(left, left_queries)));
        }
        left /= over_heads;
        left_queries /= over_queries;
        return {};
    };
    ROOFLINE_CHECK(cut("tensor", plan.tensor, parts.tensor_queries));
    ROOFLINE_CHECK(cut("sequence", plan.sequence, parts.sequence_queries));
    return parts;
}

std::vector<MeshAxis> mesh_of(const Plan& plan, const HeadCut& parts) {
    std::vector<MeshAxis> cut;
    for (MeshAxis& axis : mesh_of(plan)) {
        const std::int64_t over = axis.name == "tensor"     ? parts.tensor_queries
                                  : axis.name == "sequence" ? parts.sequence_queries
                                                            : 1;
        MeshAxis queries{axis.name == "tensor" ? "queries" : "sequence2", over, axis.links};
        axis.size /= over;
        if (axis.size > 1) cut.push_back(std::move(axis));
        if (over > 1) cut.push_back(std::move(queries));
    }
    return cut;
}

Result<PlannedProgram> apply_plan(const Program& program, const DimRoles& roles, const Plan& plan) {
    return PlanWriter(program, roles, plan).run();
}

Result<PlannedProgram> apply_plan(const TrainingProgram& step, const DimRoles& roles, const Plan& plan) {
    return PlanWriter(step, roles, plan).run();
}

}  // namespace roofline::core
