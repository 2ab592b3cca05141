#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "program/step_draft.hpp"
#include "program/typing.hpp"

namespace roofline::core {

StepWriter::StepWriter(const ForwardDraft& forward, const std::vector<bool>& stashed)
    : forward_(forward), stashed_(stashed) {
    step_.program.dims = forward.program.dims;
    step_.program.sizes = forward.program.sizes;
}

Status StepWriter::write(const DraftBlock& block) { return nodes(block, step_.program.body); }

Status StepWriter::nodes(const DraftBlock& block, Block& out) {
    around_.push_back(&block);
    for (const DraftNode& node : block.nodes) {
        if (const auto* statement = std::get_if<DraftStatement>(&node)) {
            ROOFLINE_CHECK(this->statement(*statement, out));
        } else if (const auto* declaration = std::get_if<DraftDeclaration>(&node)) {
            (void)declare(declaration->value);
        } else {
            const DraftBlock& draft = std::get<DraftBlock>(node);
            if (draft.kind == Block::Kind::sequence) {
                ROOFLINE_CHECK(nodes(draft, out));
                continue;
            }
            Block inner;
            inner.kind = draft.kind;
            inner.count = draft.count;
            inner.values_before = step_.program.values.size();
            const auto before = named_;
            ROOFLINE_CHECK(nodes(draft, inner));
            inner.values_after = step_.program.values.size();
            if (inner.kind == Block::Kind::repeat) {
                for (const auto& [name, id] : before) {
                    const ValueId newest = named_.at(name);
                    if (newest != id) step_.program.values[newest].carried = true;
                }
            }
            out.nodes.emplace_back(std::move(inner));
        }
    }
    around_.pop_back();
    step_.program.body.values_after = step_.program.values.size();
    return {};
}

ValueId StepWriter::declare(ValueId draft) {
    Value value = forward_.program.values[draft];
    value.carried = false;
    const ValueId id = step_.program.values.size();
    named_[value.name] = id;
    step_.program.values.push_back(std::move(value));
    place_[draft] = id;
    return id;
}

// The value that stands for a forward value here: an enclosing block may have recomputed it.
ValueId StepWriter::renamed(ValueId draft) const {
    for (const DraftBlock* block : std::views::reverse(around_)) {
        const auto found = block->instead.find(draft);
        if (found != block->instead.end() && place_.contains(found->second)) return found->second;
    }
    return draft;
}

Status StepWriter::statement(const DraftStatement& draft, Block& out) {
    Statement statement;
    statement.part = draft.part;
    statement.using_dtype = draft.using_dtype;
    statement.span = draft.span;
    ROOFLINE_TRY(const auto made, lower(draft.term, statement));
    Value value = forward_.program.values[draft.result];
    const std::vector<std::string> dims = dims_of(value.type);
    if (statement.ops.empty() || statement.ops.back().output.value != made.value) {
        Op move;
        move.kind = OpKind::move;
        move.inputs = {made};
        move.arithmetic = value.type.dtype;
        move.output = {step_.program.values.size(), dims};
        Value moved;
        inherit_masks(step_.program, move, moved);
        step_.program.values.push_back(std::move(moved));
        statement.ops.push_back(std::move(move));
    }
    Operand& output = statement.ops.back().output;
    output.dims = dims;
    const ValueId id = output.value;
    value.carried = false;
    value.intermediate = false;
    value.param = false;
    value.frozen = false;
    value.part = draft.part;
    value.masks = step_.program.values[id].masks;
    named_[value.name] = id;
    step_.program.values[id] = std::move(value);
    place_[draft.result] = id;
    statement.result = id;
    step_.phases.push_back(draft.phase);
    out.nodes.emplace_back(std::move(statement));
    return {};
}

Result<Operand> StepWriter::lower(const Formula& term, Statement& statement) {
    if (term.is_tensor()) {
        const ValueId draft = renamed(term->value);
        const bool part = forward_.program.values[draft].intermediate && !stashed_[draft];
        if (!part) return Operand{place_.at(draft), term->dims};
        return lower(forward_.made(draft, stashed_), statement);
    }
    // A separate statement's move, see there.
    if (term->op == OpKind::move) return lower(term->arguments.front(), statement);
    const std::size_t first = statement.ops.size();
    // The factors of a * b * c come first, then its products, as in a parsed program.
    std::vector<Formula> chain = factors(term, statement);
    if (chain.size() > 2) {
        std::vector<Operand> operands;
        for (const Formula& factor : chain) {
            ROOFLINE_TRY(auto operand, lower(factor, statement));
            operands.push_back(std::move(operand));
        }
        Operand product = operands.front();
        for (std::size_t i = 1; i < operands.size(); ++i) {
            Op op;
            op.function = "mul";
            op.inputs = {product, operands[i]};
            ROOFLINE_TRY(product, emit(std::move(op), statement, first));
        }
        return product;
    }
    Op op;
    op.kind = term->op;
    op.function = term->function;
    op.along = term->along;
    for (std::size_t i = 0; i < term->arguments.size(); ++i) {
        const Formula& argument = term->arguments[i];
        if (argument.is_number()) {
            op.constants.push_back({i, argument->number});
            continue;
        }
        ROOFLINE_TRY(auto operand, lower(argument, statement));
        op.inputs.push_back(std::move(operand));
    }
    op.named_sum = op.kind == OpKind::contract && op.inputs.size() == 2;  // `*_D` takes two operands
    return emit(std::move(op), statement, first);
}

// The factors of an elementwise product and of the products on its left; they form one chain if all have the same
// dtype.
std::vector<Formula> StepWriter::factors(const Formula& term, const Statement& statement) const {
    std::vector<Formula> factors;
    const auto is_product = [](const Formula& t) {
        return !t.is_tensor() && !t.is_number() && t->op == OpKind::apply && t->function == "mul" &&
               !t->arguments[0].is_number() && !t->arguments[1].is_number();
    };
    Formula left = term;
    while (is_product(left) && (factors.empty() || dtype(left, statement) == dtype(term, statement))) {
        factors.insert(factors.begin(), left->arguments[1]);
        const Formula next = left->arguments[0];
        left = next;
    }
    factors.insert(factors.begin(), left);
    return factors;
}

Dtype StepWriter::dtype(const Formula& term, const Statement& statement) const {
    if (term.is_tensor()) {
        const ValueId id = renamed(term->value);
        const bool part = forward_.program.values[id].intermediate && !stashed_[id];
        return part ? dtype(forward_.made(id, stashed_), statement) : forward_.program.values[id].type.dtype;
    }
    if (term->op != OpKind::move && statement.using_dtype) return info(*statement.using_dtype).arithmetic;
    std::vector<Dtype> dtypes;
    for (const Formula& argument : term->arguments) {
        if (!argument.is_number()) dtypes.push_back(dtype(argument, statement));
    }
    Op op;
    op.kind = term->op;
    op.function = term->function;
    if (op.kind == OpKind::move || moves_rows(op)) return dtypes.front();
    DtypeClash clash;
    return result_dtype(arithmetic_of(dtypes, clash).value_or(dtypes.front()));
}

// Appends an operation whose operands are known.
Result<Operand> StepWriter::emit(Op op, Statement& statement, std::size_t first) {
    op.span = statement.span;
    std::vector<Dtype> dtypes;
    for (const Operand& input : op.inputs) dtypes.push_back(step_.program.values[input.value].type.dtype);
    DtypeClash clash;
    const bool placed = moves_rows(op);
    const auto arithmetic = placed                  ? std::optional(dtypes.front())
                            : statement.using_dtype ? std::optional(info(*statement.using_dtype).arithmetic)
                                                    : arithmetic_of(dtypes, clash);
    if (!arithmetic) {
        auto error =
            fail("ambiguous_arithmetic",
                 fmt::format("{} with {} in the backward pass is ambiguous", name(clash.left), name(clash.right)),
                 "use a single floating-point dtype of that width in the forward program");
        error.value().place = Place{"", statement.span.line, statement.span.column, "", 0};
        return error;
    }
    op.arithmetic = *arithmetic;
    Value value;
    value.intermediate = true;
    value.type.dtype = placed ? *arithmetic : result_dtype(*arithmetic);
    op.output.dims = result_dims(op);
    for (const std::string& dim : op.output.dims) value.type.axes.push_back({dim, {}});
    inherit_masks(step_.program, op, value);
    op.output.value = step_.program.values.size();
    step_.program.values.push_back(std::move(value));
    Operand output = op.output;
    statement.ops.push_back(std::move(op));
    const Op& made = statement.ops.back();
    if (made.function == "causal") {
        MaskedPlane plane{made.along[0], made.along[1]};
        if (made.along.size() == 3) plane.window = made.along[2];
        mask_operands(step_.program, statement.ops, first, plane);
    }
    return output;
}

TrainingProgram StepWriter::finish() {
    label_values(step_.program);
    return std::move(step_);
}

}  // namespace roofline::core
