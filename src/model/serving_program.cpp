#include "model/serving_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>

#include "model/carried_states.hpp"
#include "model/merged_matmuls.hpp"
#include "model/routed_experts.hpp"
#include "program/each_op.hpp"
#include "program/value_ids.hpp"

namespace roofline::core {

namespace {

template <class Visit>
void each_operand(Op& op, Visit visit) {
    for (Operand& input : op.inputs) visit(input);
    visit(op.output);
}

bool has_axis(const Value& value, const std::string& dim) {
    return std::any_of(value.type.axes.begin(), value.type.axes.end(),
                       [&](const Axis& axis) { return axis.dim == dim; });
}

void rename_dims(std::vector<std::string>& dims, const std::string& from, const std::string& to) {
    std::replace(dims.begin(), dims.end(), from, to);
}

/// Finds the values that share a dimension because operations relate it between them.
class Sharers {
public:
    Sharers(Program& program, std::string dim)
        : program_(program), dim_(std::move(dim)), parent_(program.values.size()) {
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
        each_op(program.body, [&](Op& op) {
            std::optional<ValueId> first;
            each_operand(op, [&](Operand& operand) {
                if (!has(operand.dims, dim_)) return;
                if (first) parent_[root(operand.value)] = root(*first);
                first = operand.value;
            });
        });
    }

    /// Renames the dimension in all values that share it with `value`.
    void rename(ValueId value, const std::string& to) {
        const std::size_t group = root(value);
        each_op(program_.body, [&](Op& op) {
            bool ours = false;
            each_operand(op, [&](Operand& operand) {
                if (!has(operand.dims, dim_) || root(operand.value) != group) return;
                rename_dims(operand.dims, dim_, to);
                ours = true;
            });
            if (ours) rename_dims(op.along, dim_, to);
        });
        for (ValueId id = 0; id < program_.values.size(); ++id) {
            if (root(id) != group) continue;
            for (Axis& axis : program_.values[id].type.axes) {
                if (axis.dim == dim_) axis.dim = to;
            }
        }
    }

private:
    std::size_t root(std::size_t id) {
        while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
        return id;
    }

    Program& program_;
    std::string dim_;
    std::vector<std::size_t> parent_;
};

class Serving {
public:
    Serving(Program program, const Model& model, const ServingPass& pass, const ServingDtypes& dtypes,
            const ExpertRouting& routing)
        : program_(std::move(program)), model_(model), pass_(pass), dtypes_(dtypes), routing_(routing) {
        for (const Value& value : program_.values) {
            for (const MaskedPlane& plane : value.masks) positions_.insert({plane.columns, plane.window});
        }
    }

    Result<Program> run() {
        bind();
        store();
        if (only_last()) unmask();
        ROOFLINE_CHECK(last_logits());
        touched_experts();
        merge_matmuls(program_);
        carry_states(program_, pass_.phase == ServingPhase::decode || pass_.context > pass_.queries);
        label_values(program_);
        return std::move(program_);
    }

private:
    /// Whether there is nothing but the ends of sequences, which all of their tokens precede.
    [[nodiscard]] bool only_last() const { return pass_.phase == ServingPhase::decode || pass_.queries == 1; }

    void bind() {
        program_.sizes["B"] = pass_.batch;
        program_.sizes["T"] = pass_.queries;
        program_.sizes["S"] = pass_.context;
        for (const auto& [window, size] : model_.windows) program_.sizes[window] = std::min(size, pass_.context);
    }

    [[nodiscard]] bool is_position(const std::string& dim) const {
        return std::any_of(positions_.begin(), positions_.end(),
                           [&](const auto& plane) { return plane.first == dim || plane.second == dim; });
    }

    /// The dimensions that a value has for each position; empty for a value without positions.
    [[nodiscard]] std::vector<std::string> per_position(const Value& value) const {
        std::vector<std::string> dims;
        bool found = false;
        for (const Axis& axis : value.type.axes) {
            if (is_position(axis.dim)) {
                found = true;
            } else {
                dims.push_back(axis.dim);
            }
        }
        return found ? dims : std::vector<std::string>{};
    }

    // The cache of a window is declared next to the tensor that represents it in the program, with the same content per
    // position.
    void store() {
        std::set<std::vector<std::string>> cached;
        std::set<ValueId> kept;
        std::set<ValueId> made;
        for (const Value& value : program_.values) {
            if (value.cache && !per_position(value).empty()) cached.insert(per_position(value));
        }
        each_op(program_.body, [&](Op& op) { made.insert(op.output.value); });
        for (ValueId id = 0; id < program_.values.size(); ++id) {
            const Value& value = program_.values[id];
            const auto each = per_position(value);
            if (!value.param && !each.empty() && (value.cache || (!made.contains(id) && cached.contains(each)))) {
                kept.insert(id);
            }
        }
        each_op(program_.body, [&](Op& op) {
            if (op.kind == OpKind::apply && op.function == "scatter" && kept.contains(op.inputs[0].value)) {
                kept.insert(op.output.value);
            }
            if (op.kind == OpKind::contract) arithmetic_of(op);
        });
        for (const ValueId id : kept) program_.values[id].type.dtype = dtypes_.kv;
        for (ValueId id = 0; id < program_.values.size(); ++id) {
            if (const auto dtype = stored(id)) program_.values[id].type.dtype = *dtype;
        }
    }

    [[nodiscard]] std::optional<Dtype> stored(ValueId id) const {
        return id < dtypes_.params.size() ? dtypes_.params[id].dtype : std::nullopt;
    }

    void arithmetic_of(Op& op) {
        for (const Operand& input : op.inputs) {
            const auto dtype = stored(input.value);
            if (!dtype) continue;
            const DtypeInfo& weights = info(*dtype);
            op.arithmetic = weights.kind == DtypeKind::floating && weights.bits <= 8
                                ? weights.arithmetic
                                : arithmetic(weights.arithmetic, op.arithmetic).value_or(op.arithmetic);
        }
    }

    void unmask() {
        for (ValueId id = 0; id < program_.values.size(); ++id) {
            for (const MaskedPlane& plane : program_.values[id].masks) {
                if (plane.window.empty() || !has_axis(program_.values[id], plane.columns)) continue;
                Sharers(program_, plane.columns).rename(id, plane.window);
            }
        }
        for (Value& value : program_.values) value.masks.clear();
    }

    // Restricts the statements of the head to the last token.
    Status last_logits() {
        std::vector<Node> nodes;
        std::set<ValueId> made;
        std::map<ValueId, ValueId> last_of;
        for (Node& node : program_.body.nodes) {
            auto* statement = std::get_if<Statement>(&node);
            if (statement == nullptr || statement->part != "head" || only_last()) {
                found_head_ = found_head_ || (statement != nullptr && statement->part == "head");
                nodes.push_back(std::move(node));
                continue;
            }
            found_head_ = true;
            if (last_.empty()) last_ = new_dim(program_, "Last", 1);
            for (Op& op : statement->ops) {
                for (Operand& input : op.inputs) {
                    if (!has(input.dims, "T") || made.contains(input.value)) continue;
                    auto found = last_of.find(input.value);
                    if (found == last_of.end()) {
                        found = last_of.emplace(input.value, take_last(input, nodes)).first;
                    }
                    input.value = found->second;
                }
                each_operand(op, [&](Operand& operand) { rename_dims(operand.dims, "T", last_); });
                rename_dims(op.along, "T", last_);
                for (Axis& axis : program_.values[op.output.value].type.axes) {
                    if (axis.dim == "T") axis.dim = last_;
                }
                program_.values[op.output.value].masks.clear();
                made.insert(op.output.value);
            }
            nodes.push_back(std::move(node));
        }
        program_.body.nodes = std::move(nodes);
        if (found_head_) return {};
        return fail("unsupported", fmt::format("{} computes no logits", model_.name), "serving draws tokens from them");
    }

    // Inserts a statement that gathers the last rows of `from` along T before the statement that needs them.
    ValueId take_last(const Operand& from, std::vector<Node>& nodes) {
        if (!positions_of_last_) {
            Value where;
            where.name = "LastPos";
            where.type.dtype = Dtype::int32;
            where.type.axes.push_back({last_, {}});
            positions_of_last_ = program_.values.size();
            program_.values.push_back(std::move(where));
        }
        Value rows = program_.values[from.value];
        rows.name += "Last";
        rows.type_follows = true;
        rows.part = "head";
        for (Axis& axis : rows.type.axes) {
            if (axis.dim == "T") axis = {last_, {}};
        }
        const ValueId id = program_.values.size();
        program_.values.push_back(std::move(rows));
        Op op;
        op.kind = OpKind::apply;
        op.function = "gather";
        op.inputs = {from, {*positions_of_last_, {last_}}};
        op.output = {id, from.dims};
        rename_dims(op.output.dims, "T", last_);
        op.along = {"T"};
        op.arithmetic = program_.values[from.value].type.dtype;
        Statement statement;
        statement.ops.push_back(std::move(op));
        statement.result = id;
        statement.part = "head";
        nodes.emplace_back(std::move(statement));
        return id;
    }

    /// Makes the experts that the pass reads a separate dimension, with their weights and rows.
    void touched_experts() {
        struct Seed {
            RoutedExperts routed;
            ValueId groups;
        };
        std::vector<Seed> seeds;
        each_op(program_.body, [&](Op& op) {
            if (op.kind != OpKind::apply || op.function != "dispatch") return;
            for (const RoutedExperts& each : routed_experts(program_)) {
                if (each.experts == op.along[0] && each.rows == op.along[1]) seeds.push_back({each, op.output.value});
            }
        });
        std::map<std::string, std::string> touched;
        for (const Seed& seed : seeds) {
            const std::string& experts = seed.routed.experts;
            auto found = touched.find(experts);
            if (found == touched.end()) {
                found = touched.emplace(experts, new_dim(program_, experts + "read", experts_read(seed.routed))).first;
            }
            if (has_axis(program_.values[seed.groups], experts)) {
                Sharers(program_, experts).rename(seed.groups, found->second);
            }
        }
        bind_groups_of_experts(program_);
    }

    [[nodiscard]] std::int64_t experts_read(const RoutedExperts& routed) const {
        const std::int64_t experts = product_of({routed.experts}, program_.sizes);
        if (pass_.experts == ExpertsRead::all) return experts;
        const std::int64_t choices = product_of(routed.choices, program_.sizes);
        if (pass_.experts == ExpertsRead::fewest) return std::min(experts, choices);
        const ExpertRouting alike;
        const bool given = pass_.experts == ExpertsRead::likely;
        return likely_experts(given ? routing_ : alike, experts, choices, product_of(routed.tokens, program_.sizes));
    }

    Program program_;
    const Model& model_;
    const ServingPass& pass_;
    const ServingDtypes& dtypes_;
    const ExpertRouting& routing_;
    std::set<std::pair<std::string, std::string>> positions_;  ///< columns of masks and their windows
    std::string last_;                                         ///< the dimension of the last token
    std::optional<ValueId> positions_of_last_;
    bool found_head_ = false;
};

}  // namespace

Result<Program> serving_program(Program program, const Model& model, const ServingPass& pass,
                                const ServingDtypes& dtypes, const ExpertRouting& routing) {
    const bool prefill = pass.phase == ServingPhase::prefill;
    if (pass.batch < 1 || pass.queries < 1 || pass.context < 1 || (prefill && pass.queries > pass.context)) {
        return fail("bad_request", "a pass takes at least one token of each sequence, and a prefill at most them all");
    }
    return Serving(std::move(program), model, pass, dtypes, routing).run();
}

}  // namespace roofline::core
