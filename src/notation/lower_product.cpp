// Lowering of products: which dimensions they sum over, and where in nested products.
#include <fmt/format.h>

#include <algorithm>

#include "notation/lower_expr.hpp"
#include "program/typing.hpp"

namespace roofline::core {

namespace {

using Kind = ast::Expr::Kind;
using DimNames = std::set<std::string>;

bool is_leaf(const ast::Expr& expr) { return expr.kind == Kind::name || expr.kind == Kind::tensor; }

}  // namespace

Result<std::set<std::string>> ExprLowering::all_dims(const ast::Expr& expr) {
    if (const auto known = all_dims_.find(&expr); known != all_dims_.end()) return known->second;
    auto dims = offered(expr, std::nullopt);
    if (dims) all_dims_.emplace(&expr, *dims);
    return dims;
}

Result<std::set<std::string>> ExprLowering::offered(const ast::Expr& expr, const Needed& needed) {
    DimNames dims;
    if (expr.kind == Kind::tensor) {
        for (const ast::Dim& dim : expr.type.dims) {
            if (!dim.name.empty()) dims.insert(dim.name);
        }
        return dims;
    }
    if (expr.kind == Kind::name) {
        ROOFLINE_TRY(auto id, scope_.find(expr.name, expr.span));
        for (const Axis& axis : program_.values[id].type.axes) dims.insert(axis.dim);
        return dims;
    }
    const bool product = expr.kind == Kind::product || expr.kind == Kind::named_product;
    Needed inner = needed;
    if (inner) {
        ROOFLINE_TRY(auto along, works_along(expr));
        inner->insert(along.begin(), along.end());
    }
    if (inner && product) {
        ROOFLINE_CHECK(add_leaves(pointers(expr.args), *inner));
    }
    DimNames shared;
    for (const ast::Expr& argument : expr.args) {
        ROOFLINE_TRY(auto part, inner ? offered(argument, inner) : all_dims(argument));
        for (const std::string& dim : part) {
            if (!dims.insert(dim).second) shared.insert(dim);
        }
    }
    const FunctionInfo* function = expr.kind == Kind::call ? find_function(expr.name) : nullptr;
    if (function != nullptr && expr.args.size() == 2 && !expr.along.empty()) {
        if (function->kind == FunctionKind::dispatch) {
            std::erase_if(dims, [&](const std::string& dim) { return shared.contains(dim); });
            for (const ast::Word& word : expr.along) dims.insert(word.text);
            ROOFLINE_TRY(auto ids, all_dims(expr.args[1]));
            for (const std::string& dim : ids) dims.erase(dim);
            return dims;
        }
        if (function->kind == FunctionKind::slide) return all_dims(expr.args[0]);
        if (function->kind == FunctionKind::scatter_add || function->kind == FunctionKind::correlate) {
            const std::size_t made = function->kind == FunctionKind::correlate ? 1 : 0;
            for (std::size_t i = 0; i < expr.along.size(); ++i) {
                if (i != made) dims.erase(expr.along[i].text);
            }
            if (made < expr.along.size()) dims.insert(expr.along[made].text);
            return dims;
        }
    }
    if (function != nullptr && function->kind == FunctionKind::match && expr.args.size() == 3) {
        auto beside = all_dims(expr.args[1]);
        auto routes = all_dims(expr.args[2]);
        if (!beside || !routes) return fail(!beside ? beside.error() : routes.error());
        beside->merge(*routes);
        for (const ast::Word& word : expr.along) beside->erase(word.text);
        return beside;
    }
    if (function != nullptr && function->kind == FunctionKind::expand) {
        for (const ast::Word& word : expr.along) dims.insert(word.text);
        return dims;
    }
    const bool drops =
        function != nullptr && (function->kind == FunctionKind::reduce || function->kind == FunctionKind::gather ||
                                function->kind == FunctionKind::combine);
    if (drops || expr.kind == Kind::named_product) {
        ROOFLINE_TRY(auto along, works_along(expr));
        for (const std::string& dim : along) dims.erase(dim);
    } else if (product && needed) {
        std::erase_if(dims, [&](const std::string& dim) { return shared.contains(dim) && !needed->contains(dim); });
    }
    return dims;
}

Result<std::vector<std::string>> ExprLowering::works_along(const ast::Expr& expr) {
    if (expr.kind == Kind::named_product) {
        DimNames all;
        for (const ast::Expr& argument : expr.args) {
            ROOFLINE_TRY(auto dims, all_dims(argument));
            all.merge(dims);
        }
        return summed_names(expr, all);
    }
    Dims dims;
    for (const ast::Word& word : expr.along) dims.push_back(word.text);
    return dims;
}

Result<std::vector<std::string>> ExprLowering::summed_names(const ast::Expr& expr,
                                                            const std::set<std::string>& available) const {
    Dims dims;
    for (const ast::Word& word : expr.along) {
        if (available.contains(word.text)) {
            dims.push_back(word.text);
            continue;
        }
        for (const char letter : word.text) {  // `*_DE` names D and E
            const std::string dim(1, letter);
            if (!available.contains(dim)) {
                const std::vector<std::string> candidates(available.begin(), available.end());
                return source_.fail_at(
                    word.span, "unknown_dimension", fmt::format("the operands have no dimension `{}`", word.text),
                    did_you_mean(word.text, candidates, fmt::format("they have {}", fmt::join(candidates, ", "))));
            }
            dims.push_back(dim);
        }
    }
    return dims;
}

std::vector<const ast::Expr*> ExprLowering::pointers(const std::vector<ast::Expr>& exprs) {
    std::vector<const ast::Expr*> all;
    for (const ast::Expr& expr : exprs) all.push_back(&expr);
    return all;
}

Status ExprLowering::add_leaves(const std::vector<const ast::Expr*>& factors, std::set<std::string>& dims) {
    for (const ast::Expr* factor : factors) {
        if (!is_leaf(*factor)) continue;
        ROOFLINE_TRY(auto own, all_dims(*factor));
        dims.merge(own);
    }
    return {};
}

// A factor that is itself a product keeps the dimensions of the result and of the plain tensors beside it, and sums
// over the other dimensions that its own factors share: in `silu(X * Wg) * (X * Wi)` each half sums over D; in `(A * B)
// * (C * D)` a dimension that B and C share is kept.
Result<std::vector<Operand>> ExprLowering::factors(const std::vector<const ast::Expr*>& exprs, const Needed& needed) {
    std::vector<Needed> inner(exprs.size(), needed);
    if (needed) {
        DimNames base = *needed;
        ROOFLINE_CHECK(add_leaves(exprs, base));
        std::map<std::string, std::size_t> having;  // number of factors that have a dimension at all
        std::map<std::string, std::size_t> offering;
        std::vector<DimNames> offers;
        for (const ast::Expr* expr : exprs) {
            ROOFLINE_TRY(auto all, all_dims(*expr));
            for (const std::string& dim : all) ++having[dim];
            ROOFLINE_TRY(auto offer, offered(*expr, base));
            for (const std::string& dim : offer) ++offering[dim];
            offers.push_back(std::move(offer));
        }
        for (std::size_t i = 0; i < exprs.size(); ++i) {
            inner[i] = base;
            for (const auto& [dim, count] : offering) {
                const bool ours = offers[i].contains(dim);
                if (ours ? having[dim] > 1 : count > 0) inner[i]->insert(dim);
            }
        }
    }
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < exprs.size(); ++i) {
        ROOFLINE_TRY(auto operand, lower(*exprs[i], inner[i]));
        operands.push_back(std::move(operand));
    }
    return operands;
}

Result<Operand> ExprLowering::product(const ast::Expr& expr, const Needed& needed) {
    std::vector<const ast::Expr*> tensors;
    std::vector<double> constants;
    for (const ast::Expr& argument : expr.args) {
        if (argument.kind == Kind::number) {
            constants.push_back(argument.number);
        } else {
            tensors.push_back(&argument);
        }
    }
    if (tensors.empty()) return lower(expr.args.front(), needed);  // only numbers: refused there
    if (tensors.size() == 1) {
        ROOFLINE_TRY(auto only, lower(*tensors.front(), needed));
        return scaled(expr, std::move(only), constants);
    }

    ROOFLINE_TRY(auto inputs_made, factors(tensors, needed));
    std::vector<Operand> inputs = std::move(inputs_made);
    std::set<std::string_view> all;
    for (const Operand& input : inputs) all.insert(input.dims.begin(), input.dims.end());
    if (all.size() > max_product_dims) {
        return source_.fail_at(expr.span, "too_many_dimensions",
                               fmt::format("the operands of a product have {} dimensions; the maximum is {}",
                                           all.size(), max_product_dims));
    }
    const std::vector<Operand> written = inputs;
    ROOFLINE_CHECK(match_anonymous(expr, inputs));

    Dims summed;
    for (const std::string& dim : together(inputs)) {
        if (is_anonymous(dim)) {
            // A dimension is summed when the matrix-product rule joined it: the label was not the right operand's own.
            for (std::size_t i = 1; i < inputs.size(); ++i) {
                if (inputs[i].dims.size() == 2 && inputs[i].dims[0] == dim && written[i].dims != inputs[i].dims &&
                    inputs[i - 1].dims.back() == dim) {
                    summed.push_back(dim);
                }
            }
        } else if (needed && !needed->contains(dim)) {
            summed.push_back(dim);
        } else if (!needed) {
            const auto count = std::count_if(inputs.begin(), inputs.end(),
                                             [&](const Operand& operand) { return has(operand.dims, dim); });
            if (count > 1) {
                return source_.fail_at(
                    expr.span, "result_type", fmt::format("it is ambiguous whether this product sums over `{}`", dim),
                    fmt::format("write the result's type: C : bf16[B, F] = ..., or name the summed dimension: *_{}",
                                dim));
            }
        }
    }
    ROOFLINE_TRY(auto result, multiply(expr, std::move(inputs), summed, false));
    return scaled(expr, std::move(result), constants);
}

Result<Operand> ExprLowering::named_product(const ast::Expr& expr, const Needed& needed) {
    for (const ast::Expr& argument : expr.args) {
        if (argument.kind == Kind::number) {
            return source_.fail_at(argument.span, "syntax", "a product with named summed dimensions takes two tensors");
        }
    }
    Needed inner = needed;
    if (inner) {
        ROOFLINE_TRY(auto summed, works_along(expr));
        inner->insert(summed.begin(), summed.end());
    }
    ROOFLINE_TRY(auto inputs, factors(pointers(expr.args), inner));
    const Dims all = together(inputs);
    ROOFLINE_TRY(auto summed, summed_names(expr, {all.begin(), all.end()}));
    return multiply(expr, std::move(inputs), summed, true);
}

// "Last of the left with first of the right, both 2-D": the right operand takes the left's name for the dimension.
Status ExprLowering::match_anonymous(const ast::Expr& expr, std::vector<Operand>& inputs) {
    for (std::size_t i = 1; i < inputs.size(); ++i) {
        const Operand& left = inputs[i - 1];
        Operand& right = inputs[i];
        if (left.dims.size() != 2 || right.dims.size() != 2) continue;
        if (!is_anonymous(left.dims[1]) || !is_anonymous(right.dims[0])) continue;
        const bool same_tensor = left.value == right.value;
        if (!same_tensor && (has(left.dims, right.dims[0]) || has(left.dims, right.dims[1]))) continue;
        const std::int64_t ours = scope_.size_of(left.dims[1]);
        const std::int64_t theirs = scope_.size_of(right.dims[0]);
        if (ours != theirs) {
            return source_.fail_at(
                expr.span, "size_conflict",
                fmt::format("the left operand ends with {}, but the right one begins with {}", ours, theirs),
                "the inner sizes of a matrix product must agree; name the dimensions for any other product");
        }
        right.dims[0] = left.dims[1];
        if (same_tensor && is_anonymous(right.dims[1])) right.dims[1] = scope_.anonymous(scope_.size_of(right.dims[1]));
    }
    return {};
}

Result<Operand> ExprLowering::multiply(const ast::Expr& expr, std::vector<Operand> inputs, const Dims& summed,
                                       bool named) {
    ROOFLINE_TRY(auto arithmetic, arithmetic_of(expr, inputs));
    Op op;
    op.arithmetic = arithmetic;
    op.span = expr.span;
    if (!summed.empty()) {
        Dims dims;
        for (const std::string& dim : together(inputs)) {
            if (!has(summed, dim)) dims.push_back(dim);
        }
        op.kind = OpKind::contract;
        op.inputs = std::move(inputs);
        op.along = summed;
        op.named_sum = named;
        return emit(std::move(op), std::move(dims), result_dtype(arithmetic));
    }
    Operand left = inputs.front();
    for (std::size_t i = 1; i < inputs.size(); ++i) {
        Op step = op;
        step.kind = OpKind::apply;
        step.function = "mul";
        step.inputs = {left, inputs[i]};
        Dims dims = together(step.inputs);
        ROOFLINE_TRY(left, emit(std::move(step), std::move(dims), result_dtype(arithmetic)));
    }
    return left;
}

Result<Operand> ExprLowering::scaled(const ast::Expr& expr, Operand operand, const std::vector<double>& constants) {
    for (const double constant : constants) {
        ROOFLINE_TRY(auto arithmetic, arithmetic_of(expr, {operand}));
        Op op;
        op.kind = OpKind::apply;
        op.function = "mul";
        op.constants = {{1, constant}};
        op.inputs = {operand};
        op.arithmetic = arithmetic;
        op.span = expr.span;
        Dims dims = operand.dims;
        ROOFLINE_TRY(operand, emit(std::move(op), std::move(dims), result_dtype(arithmetic)));
    }
    return operand;
}

}  // namespace roofline::core
