#include "program/limited_experts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "program/each_op.hpp"
#include "program/value_ids.hpp"

namespace roofline::core {

namespace {

/// A dispatch: the dimensions that the places of experts follow from.
struct Dispatched {
    std::string experts;
    std::string rows;
    std::string places;                  ///< the dimension of an expert's places for one sequence
    std::vector<std::string> sequences;  ///< the dimensions that number sequences
    std::string tokens;                  ///< the dimension of the tokens of a sequence
    std::vector<std::string> choices;
};

class ExpertLimiter {
public:
    ExpertLimiter(Program& program, double capacity) : program_(program), capacity_(capacity) {}

    void run() {
        each_op(program_.body, [&](const Op& op) {
            if (op.kind == OpKind::apply && op.function == "dispatch") collect(op);
        });
        if (found_.empty()) return;
        for (Value& value : program_.values) into_places(value.type.axes);
        rewrite(program_.body);
    }

private:
    void collect(const Op& op) {
        const bool known =
            std::any_of(found_.begin(), found_.end(), [&](const Dispatched& each) { return each.rows == op.along[1]; });
        if (known) return;
        Dispatched each{op.along[0], op.along[1], "", {}, "", {}};
        for (const std::string& dim : op.inputs[1].dims) {
            (has(op.inputs[0].dims, dim) ? each.sequences : each.choices).push_back(dim);
        }
        if (each.sequences.empty()) return;
        each.tokens = each.sequences.back();
        each.sequences.pop_back();
        double routes = size_of(each.tokens);
        for (const std::string& dim : each.choices) routes *= size_of(dim);
        constexpr double most = 0x1p50;
        const double places = std::ceil(capacity_ * routes / size_of(each.experts));
        each.places = new_dim(program_, "Places", static_cast<std::int64_t>(std::clamp(places, 1.0, most)));
        found_.push_back(std::move(each));
    }

    [[nodiscard]] double size_of(const std::string& dim) const {
        const auto size = program_.sizes.find(dim);
        return size == program_.sizes.end() ? 1 : static_cast<double>(size->second);
    }

    [[nodiscard]] const Dispatched* of_rows(const std::string& dim) const {
        const auto at = std::find_if(found_.begin(), found_.end(), [&](const auto& each) { return each.rows == dim; });
        return at == found_.end() ? nullptr : &*at;
    }

    void into_places(std::vector<Axis>& axes) const {
        for (std::size_t i = 0; i < axes.size(); ++i) {
            const Dispatched* const of = of_rows(axes[i].dim);
            if (of == nullptr) continue;
            axes[i].dim = of->places;
            std::vector<Axis> before;
            for (const std::string& dim : of->sequences) before.push_back({dim, {}});
            axes.insert(axes.begin(), before.begin(), before.end());
            return;
        }
    }

    void into_places(std::vector<std::string>& dims) const {
        for (std::size_t i = 0; i < dims.size(); ++i) {
            const Dispatched* const of = of_rows(dims[i]);
            if (of == nullptr) continue;
            dims[i] = of->places;
            dims.insert(dims.begin(), of->sequences.begin(), of->sequences.end());
            return;
        }
    }

    void rewrite(Block& block) {
        for (std::size_t i = 0; i < block.nodes.size(); ++i) {
            if (auto* inner = std::get_if<Block>(&block.nodes[i])) {
                rewrite(*inner);
                continue;
            }
            const std::optional<Op> weights = rewrite(std::get<Statement>(block.nodes[i]));
            if (!weights) continue;
            Statement weighting = std::get<Statement>(block.nodes[i]);
            weighting.result = weights->output.value;
            weighting.ops = {*weights};
            block.nodes.insert(block.nodes.begin() + static_cast<std::ptrdiff_t>(i), std::move(weighting));
            ++i;
        }
    }

    /// Returns the operation that weights the places of a combine, if the statement has one.
    std::optional<Op> rewrite(Statement& statement) {
        std::optional<Op> weights;
        for (Op& op : statement.ops) {
            const bool named = op.kind == OpKind::apply && op.along.size() > 1;
            const Dispatched* const of = named ? of_rows(op.along[1]) : nullptr;
            if (of != nullptr && op.function == "dispatch") {
                into_matmul(op, {of->tokens}, {mask_of(*of, op), mask_dims(*of)});
            } else if (of != nullptr && op.function == "combine" && masks_.contains(of->rows)) {
                weights = weights_of(*of, op);
                into_matmul(op, {of->experts, of->places}, weights->output);
            }
            for (Operand& input : op.inputs) into_places(input.dims);
            into_places(op.output.dims);
        }
        return weights;
    }

    static void into_matmul(Op& op, std::vector<std::string> summed, Operand masks) {
        op.kind = OpKind::contract;
        op.function.clear();
        op.along = std::move(summed);
        op.named_sum = true;
        op.inputs[1] = std::move(masks);
    }

    [[nodiscard]] static std::vector<std::string> mask_dims(const Dispatched& of) {
        std::vector<std::string> dims = of.sequences;
        dims.insert(dims.end(), {of.tokens, of.experts, of.places});
        return dims;
    }

    /// Returns the mask of the places that tokens get: an input, which the dispatch and the combine of a layer share.
    ValueId mask_of(const Dispatched& of, const Op& dispatch) {
        const ValueId behind = dispatch.inputs[0].value;
        Value mask;
        mask.name = mask.label = unused("Places");
        mask.type.dtype = program_.values[behind].type.dtype;
        for (const std::string& dim : mask_dims(of)) mask.type.axes.push_back({dim, {}});
        mask.in_place = true;
        mask.frozen = true;  // which places tokens get is a choice: it has no derivative
        mask.part = program_.values[dispatch.output.value].part;
        const ValueId id = insert(behind, std::move(mask));
        masks_[of.rows] = id;
        return id;
    }

    /// Returns the router's scores of all experts: the last that are computed before the shares.
    [[nodiscard]] std::optional<ValueId> scores_of(const Dispatched& of, ValueId share) {
        std::set<std::string> wanted(of.sequences.begin(), of.sequences.end());
        wanted.insert({of.tokens, of.experts});
        std::optional<ValueId> scores;
        each_op(program_.body, [&](const Op& op) {
            const ValueId id = op.output.value;
            const std::set<std::string> dims(op.output.dims.begin(), op.output.dims.end());
            const bool floating = info(program_.values[id].type.dtype).kind == DtypeKind::floating;
            if (id < share && floating && !program_.values[id].intermediate && dims == wanted) scores = id;
        });
        return scores;
    }

    /// Weights of places are the router's scores, to which their gradient returns. Without scores the shares, which are
    /// given, become those of all experts, zero for experts that a token did not choose.
    Op weights_of(const Dispatched& of, const Op& combine) {
        ValueId share = combine.inputs[1].value;
        if (const std::optional<ValueId> scores = scores_of(of, share)) {
            share = *scores;
        } else {
            std::erase_if(program_.values[share].type.axes,
                          [&](const Axis& axis) { return has(of.choices, axis.dim); });
            program_.values[share].type.axes.push_back({of.experts, {}});
        }
        Value value = program_.values[masks_.at(of.rows)];
        value.name = value.label = unused("Weights");
        value.in_place = value.frozen = false;
        const ValueId behind = std::max(combine.inputs[0].value, masks_.at(of.rows));
        const ValueId id = insert(behind, std::move(value));
        Op op;
        op.kind = OpKind::apply;
        op.function = "mul";
        std::vector<std::string> shares = of.sequences;
        shares.insert(shares.end(), {of.tokens, of.experts});
        const ValueId moved = share > behind ? share + 1 : share;
        op.inputs = {{masks_.at(of.rows), mask_dims(of)}, {moved, std::move(shares)}};
        op.output = {id, mask_dims(of)};
        const Dtype narrow = program_.values[id].type.dtype;
        op.arithmetic = arithmetic(narrow, program_.values[moved].type.dtype).value_or(narrow);
        return op;
    }

    ValueId insert(ValueId behind, Value value) {
        shift_values(program_.body, behind, 1);
        for (auto& [rows, id] : masks_) id += id > behind ? 1 : 0;
        program_.values.insert(program_.values.begin() + static_cast<std::ptrdiff_t>(behind) + 1, std::move(value));
        return behind + 1;
    }

    [[nodiscard]] std::string unused(const std::string& stem) const {
        const auto used = [&](const std::string& name) {
            return std::any_of(program_.values.begin(), program_.values.end(),
                               [&](const Value& value) { return value.name == name; });
        };
        std::string name = stem;
        for (int number = 2; used(name); ++number) name = stem + "_" + std::to_string(number);
        return name;
    }

    Program& program_;
    double capacity_ = 1;
    std::vector<Dispatched> found_;
    std::map<std::string, ValueId> masks_;  ///< the mask of the last dispatch, by its rows
};

}  // namespace

void limit_experts(Program& program, double capacity) { ExpertLimiter(program, capacity).run(); }

}  // namespace roofline::core
