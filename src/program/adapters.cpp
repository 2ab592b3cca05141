#include "program/adapters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "program/typing.hpp"
#include "program/weight_arithmetic.hpp"

namespace roofline::core {

namespace {

using Dims = std::vector<std::string>;

template <class Visit>
void each_matmul(const Block& block, Visit visit) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            each_matmul(*inner, visit);
            continue;
        }
        for (const Op& op : std::get<Statement>(node).ops) {
            if (op.kind == OpKind::contract) visit(op);
        }
    }
}

// A name for a dimension that the program does not have.
std::string fresh_dim(const Program& program) {
    std::string name = "r";
    for (int next = 2; has(program.dims, name); ++next) name = fmt::format("r{}", next);
    return name;
}

Error refused(const Program& program, ValueId matrix, std::string_view why, std::string_view hint) {
    return {"bad_adapter", fmt::format("{} {}", value_name(program, matrix), why), std::string(hint), {}};
}

// The new value that stands for an old one, where others were put before and behind it.
class ValueSlots {
public:
    explicit ValueSlots(std::size_t count) : first_(count), before_(count), behind_(count) {}

    // Values for statements of their own, which come before all of the statement that begins with `id`.
    std::vector<Value>& first(ValueId id) { return first_[id]; }
    std::vector<Value>& before(ValueId id) { return before_[id]; }
    std::vector<Value>& behind(ValueId id) { return behind_[id]; }

    void count() {
        places_.assign(first_.size() + 1, 0);
        for (std::size_t id = 0; id < first_.size(); ++id) {
            places_[id + 1] = places_[id] + first_[id].size() + before_[id].size() + 1 + behind_[id].size();
        }
    }
    // The number of new values before everything that belongs to an old one.
    [[nodiscard]] std::size_t place(ValueId id) const { return places_[id]; }
    [[nodiscard]] ValueId moved(ValueId id) const { return places_[id] + first_[id].size() + before_[id].size(); }

    [[nodiscard]] std::vector<Value> values(std::vector<Value> old) const {
        std::vector<Value> all;
        all.reserve(places_.back());
        for (std::size_t id = 0; id < old.size(); ++id) {
            all.insert(all.end(), first_[id].begin(), first_[id].end());
            all.insert(all.end(), before_[id].begin(), before_[id].end());
            all.push_back(std::move(old[id]));
            all.insert(all.end(), behind_[id].begin(), behind_[id].end());
        }
        return all;
    }

private:
    std::vector<std::vector<Value>> first_;
    std::vector<std::vector<Value>> before_;
    std::vector<std::vector<Value>> behind_;
    std::vector<std::size_t> places_;
};

/// A value among the new ones of an old value. Its number is known when all have been added.
struct NewValue {
    enum class Where { first, before, behind };
    Where where = Where::first;
    ValueId at = 0;
    std::size_t index = 0;
};

/// A matmul that gets an adapter.
struct Adapted {
    ValueId matrix = 0;
    Operand input;              ///< what it multiplies
    Dims along;                 ///< dimensions that it sums
    NewValue first{};           ///< A, declared behind the first matrix of the group
    NewValue second{};          ///< B
    NewValue low{};             ///< the input times A
    NewValue up{};              ///< that times B
    NewValue base{};            ///< the result of the matmul itself
    bool makes_low = false;     ///< the statement of `low` stands here
    bool stands_alone = false;  ///< the sum is a statement of its own, which elementwise work reads
    Dims low_dims;
    Dims first_dims;
    Dims second_dims;
    std::string part;  ///< of the matmul
};

// Whether an operation's result is computed with in its statement. Operations that only put rows elsewhere do not keep
// it for the backward pass.
bool is_computed_with(const Statement& statement, const Op& op) {
    return std::any_of(statement.ops.begin(), statement.ops.end(), [&](const Op& other) {
        return !moves_rows(other) && std::any_of(other.inputs.begin(), other.inputs.end(),
                                                 [&](const Operand& input) { return input.value == op.output.value; });
    });
}

class AdapterWriter {
public:
    AdapterWriter(const Program& program, const AdapterPlan& plan)
        : program_(program), plan_(plan), slots_(program.values.size()), rank_(fresh_dim(program)) {}

    Result<Program> run() {
        for (std::size_t group = 0; group < plan_.groups.size(); ++group) {
            for (const ValueId matrix : plan_.groups[group]) group_of_[matrix] = group;
        }
        made_.resize(plan_.groups.size());
        ROOFLINE_CHECK(find(program_.body));
        for (const auto& [matrix, group] : group_of_) {
            if (!found_.contains(matrix)) {
                return fail(refused(program_, matrix, "is in no matmul", "adapters need a matrix"));
            }
        }
        slots_.count();
        Program program = program_;
        freeze(program);
        for (const auto& [id, adapted] : by_result_) {
            if (!adapted.stands_alone) continue;
            Value& sum = program.values[id];
            sum.name = program.values[adapted.matrix].name + "_out";
            sum.intermediate = false;
            sum.part = adapted.part;
        }
        program.values = slots_.values(std::move(program.values));
        program.dims.push_back(rank_);
        program.sizes[rank_] = plan_.rank;
        rewrite(program.body);
        label_values(program);
        return program;
    }

private:
    Status find(const Block& block) {
        for (const Node& node : block.nodes) {
            if (const auto* inner = std::get_if<Block>(&node)) {
                ROOFLINE_CHECK(find(*inner));
                continue;
            }
            const Statement& statement = std::get<Statement>(node);
            for (const Op& op : statement.ops) {
                if (op.kind != OpKind::contract) continue;
                for (const Operand& input : op.inputs) {
                    if (group_of_.contains(input.value)) ROOFLINE_CHECK(adapt(statement, op, input));
                }
            }
        }
        return {};
    }

    Status adapt(const Statement& statement, const Op& op, const Operand& matrix) {
        ROOFLINE_CHECK(check(op, matrix));
        Adapted adapted = shaped(op, matrix);
        adapted.part = statement.part;
        adapted.stands_alone = is_computed_with(statement, op);
        const Value& weight = program_.values[matrix.value];
        const ValueId begin = statement.ops.front().output.value;
        const Dtype results = result_dtype(op.arithmetic);
        std::optional<Adapted>& made = made_[group_of_.at(matrix.value)];
        if (made) {
            ROOFLINE_CHECK(check_shared(adapted, *made));
            adapted.first = made->first;
            adapted.low = made->low;
        } else {
            adapted.first = add(NewValue::Where::behind, matrix.value, param(weight, "_A", adapted.first_dims));
            adapted.low = add(NewValue::Where::first, begin, result(weight, "_low", adapted.low_dims, results));
            adapted.makes_low = true;
        }
        adapted.second = add(NewValue::Where::behind, matrix.value, param(weight, "_B", adapted.second_dims));
        adapted.up = add(NewValue::Where::first, begin, result(weight, "_up", op.output.dims, results));
        Value base = result(weight, "", op.output.dims, results);
        base.intermediate = true;
        base.part.clear();
        base.masks = program_.values[op.output.value].masks;
        adapted.base = add(NewValue::Where::before, op.output.value, std::move(base));
        if (!made) made = adapted;
        found_.insert(matrix.value);
        by_result_.emplace(op.output.value, std::move(adapted));
        return {};
    }

    // The dimensions of both factors and of the product between them.
    [[nodiscard]] Adapted shaped(const Op& op, const Operand& matrix) const {
        Adapted adapted;
        adapted.matrix = matrix.value;
        adapted.input = op.inputs[op.inputs[0].value == matrix.value ? 1 : 0];
        adapted.along = op.along;
        for (const std::string& dim : matrix.dims) {
            const bool summed = has(op.along, dim);
            const bool shared = !summed && has(adapted.input.dims, dim);
            if (summed || shared) adapted.first_dims.push_back(dim);
            if (shared) adapted.second_dims.push_back(dim);
        }
        adapted.first_dims.push_back(rank_);
        adapted.second_dims.push_back(rank_);
        for (const std::string& dim : matrix.dims) {
            if (!has(adapted.first_dims, dim)) adapted.second_dims.push_back(dim);
        }
        for (const std::string& dim : adapted.input.dims) {
            if (!has(op.along, dim)) adapted.low_dims.push_back(dim);
        }
        adapted.low_dims.push_back(rank_);
        return adapted;
    }

    [[nodiscard]] Status check_shared(const Adapted& adapted, const Adapted& made) const {
        if (made.input == adapted.input && made.along == adapted.along && made.first_dims == adapted.first_dims) {
            return {};
        }
        return fail(refused(program_, adapted.matrix,
                            fmt::format("and {} do not multiply the same tensor, so their adapters cannot share a "
                                        "factor",
                                        value_name(program_, made.matrix)),
                            "name them one by one, with a comma between them"));
    }

    [[nodiscard]] Status check(const Op& op, const Operand& matrix) const {
        if (op.inputs.size() != 2) {
            return fail(
                refused(program_, matrix.value, "is in a matmul of three operands", "write it as two statements"));
        }
        if (found_.contains(matrix.value)) {
            return fail(refused(program_, matrix.value, "is in several matmuls", "leave it out"));
        }
        const Operand& input = op.inputs[op.inputs[0].value == matrix.value ? 1 : 0];
        if (program_.values[input.value].intermediate) {
            return fail(refused(program_, matrix.value, "multiplies a result that has no name",
                                "leave it out, and name the others"));
        }
        const MatrixShape shape = matrix_shape(program_, op, matrix);
        const std::int64_t most = std::min(shape.rows, shape.columns);
        if (plan_.rank >= 1 && plan_.rank <= most) return {};
        return fail({"bad_rank",
                     fmt::format("a rank of {} for {}, which is a matrix of {} x {}", plan_.rank,
                                 value_name(program_, matrix.value), shape.rows, shape.columns),
                     fmt::format("use 1 to {}", most),
                     {}});
    }

    NewValue add(NewValue::Where where, ValueId at, Value value) {
        std::vector<Value>& list = where == NewValue::Where::first    ? slots_.first(at)
                                   : where == NewValue::Where::before ? slots_.before(at)
                                                                      : slots_.behind(at);
        list.push_back(std::move(value));
        return {where, at, list.size() - 1};
    }

    [[nodiscard]] ValueId id_of(const NewValue& value) {
        switch (value.where) {
            case NewValue::Where::first:
                return slots_.place(value.at) + value.index;
            case NewValue::Where::before:
                return slots_.place(value.at) + slots_.first(value.at).size() + value.index;
            case NewValue::Where::behind:
                break;
        }
        return slots_.moved(value.at) + 1 + value.index;
    }

    static Value param(const Value& matrix, const char* suffix, const Dims& dims) {
        Value value = result(matrix, suffix, dims, matrix.type.dtype);
        value.param = true;
        value.level = matrix.level;
        return value;
    }

    static Value result(const Value& matrix, const std::string& suffix, const Dims& dims, Dtype dtype) {
        Value value;
        if (!suffix.empty()) value.name = matrix.name + suffix;
        value.type.dtype = dtype;
        for (const std::string& dim : dims) value.type.axes.push_back({dim, {}});
        value.part = adapter_part;
        value.span = matrix.span;
        return value;
    }

    void freeze(Program& program) const {
        std::vector<bool> multiplies(program.values.size(), false);
        each_matmul(program.body, [&](const Op& op) {
            for (const Operand& input : op.inputs) multiplies[input.value] = true;
        });
        for (ValueId id = 0; id < program.values.size(); ++id) {
            Value& value = program.values[id];
            if (!value.param) continue;
            value.frozen = true;
            if (plan_.frozen && multiplies[id] && !stays_wide(value.part)) value.type.dtype = *plan_.frozen;
        }
    }

    void rewrite(Block& block) {
        block.values_before = slots_.place(block.values_before);
        block.values_after = slots_.place(std::min(block.values_after, program_.values.size()));
        std::vector<Node> nodes;
        for (Node& node : block.nodes) {
            if (auto* inner = std::get_if<Block>(&node)) {
                rewrite(*inner);
            } else {
                rewrite(std::get<Statement>(node), nodes);
            }
            nodes.push_back(std::move(node));
        }
        block.nodes = std::move(nodes);
    }

    // Puts the statements of adapters before the statement of their matmul.
    void rewrite(Statement& statement, std::vector<Node>& before) {
        std::vector<Op> ops;
        for (Op& op : statement.ops) {
            const auto adapted = by_result_.find(op.output.value);
            for (Operand& input : op.inputs) input.value = slots_.moved(input.value);
            op.output.value = slots_.moved(op.output.value);
            if (adapted == by_result_.end()) {
                ops.push_back(std::move(op));
                continue;
            }
            const Adapted& adapter = adapted->second;
            const Operand input{slots_.moved(adapter.input.value), adapter.input.dims};
            const Operand low{id_of(adapter.low), adapter.low_dims};
            const Operand up{id_of(adapter.up), op.output.dims};
            if (adapter.makes_low) {
                before.emplace_back(matmul(op, {input, {id_of(adapter.first), adapter.first_dims}}, low, op.along));
            }
            before.emplace_back(matmul(op, {low, {id_of(adapter.second), adapter.second_dims}}, up, {rank_}));
            const Operand base{id_of(adapter.base), op.output.dims};
            Op sum;
            sum.function = "add";
            sum.inputs = {base, up};
            sum.output = op.output;
            sum.arithmetic = info(result_dtype(op.arithmetic)).arithmetic;
            sum.span = op.span;
            op.output = base;
            if (adapter.stands_alone) {
                Statement alone;
                alone.result = sum.output.value;
                alone.part = statement.part;
                alone.using_dtype = statement.using_dtype;
                alone.span = op.span;
                alone.ops = {std::move(op), std::move(sum)};
                before.emplace_back(std::move(alone));
                continue;
            }
            ops.push_back(std::move(op));
            ops.push_back(std::move(sum));
        }
        statement.ops = std::move(ops);
        statement.result = slots_.moved(statement.result);
    }

    static Statement matmul(const Op& like, std::vector<Operand> inputs, Operand output, Dims along) {
        Op op;
        op.kind = OpKind::contract;
        op.inputs = std::move(inputs);
        op.output = std::move(output);
        op.along = std::move(along);
        op.named_sum = true;
        op.arithmetic = like.arithmetic;
        op.span = like.span;
        Statement statement;
        statement.result = op.output.value;
        statement.part = adapter_part;
        statement.span = like.span;
        statement.ops.push_back(std::move(op));
        return statement;
    }

    const Program& program_;
    const AdapterPlan& plan_;
    ValueSlots slots_;
    std::string rank_;
    std::map<ValueId, std::size_t> group_of_;
    std::vector<std::optional<Adapted>> made_;  ///< by group, its first matrix
    std::set<ValueId> found_;
    std::map<ValueId, Adapted> by_result_;
};

}  // namespace

MatrixShape matrix_shape(const Program& program, const Op& matmul, const Operand& matrix) {
    MatrixShape shape;
    for (const std::string& dim : matrix.dims) {
        const auto size = program.sizes.find(dim);
        if (size == program.sizes.end()) continue;
        const bool everywhere = std::all_of(matmul.inputs.begin(), matmul.inputs.end(),
                                            [&](const Operand& input) { return has(input.dims, dim); });
        if (has(matmul.along, dim)) {
            shape.rows *= size->second;
        } else if (!everywhere) {
            shape.columns *= size->second;
        }
    }
    return shape;
}

Result<Program> with_adapters(const Program& program, const AdapterPlan& plan) {
    return AdapterWriter(program, plan).run();
}

}  // namespace roofline::core
