#include "program/formula.hpp"

#include <algorithm>

#include "program/typing.hpp"

namespace roofline::core {

namespace {

// Returns the operation as one of a program, as far as its dimensions are concerned.
Op shape_of(const FormulaNode& node) {
    Op op;
    op.kind = node.op;
    op.function = node.function;
    op.along = node.along;
    for (const Formula& argument : node.arguments) {
        if (!argument.is_number()) op.inputs.push_back({0, argument->dims});
    }
    return op;
}

FormulaNode typed(FormulaNode node) {
    node.kind = FormulaNode::Kind::op;
    node.dims = result_dims(shape_of(node));
    return node;
}

}  // namespace

Formula::Formula(double number) {
    FormulaNode node;
    node.number = number;
    node_ = std::make_shared<const FormulaNode>(std::move(node));
}

bool Formula::is_tensor() const { return node_->kind == FormulaNode::Kind::tensor; }
bool Formula::is_number() const { return node_->kind == FormulaNode::Kind::number; }

Formula Formula::tensor(ValueId value, std::vector<std::string> dims) {
    FormulaNode node;
    node.kind = FormulaNode::Kind::tensor;
    node.value = value;
    node.dims = std::move(dims);
    return Formula(std::make_shared<const FormulaNode>(std::move(node)));
}

Formula Formula::call(std::string function, std::vector<Formula> arguments, std::vector<std::string> along) {
    FormulaNode node;
    node.function = std::move(function);
    node.arguments = std::move(arguments);
    node.along = std::move(along);
    // In a product with a number the number is on the right, as in parsed programs.
    if (node.function == "mul" && node.arguments.front().is_number()) {
        std::swap(node.arguments.front(), node.arguments.back());
    }
    return Formula(std::make_shared<const FormulaNode>(typed(std::move(node))));
}

Formula Formula::product(std::vector<Formula> factors, std::vector<std::string> along) {
    if (along.empty()) {
        Formula product = factors.front();
        for (std::size_t i = 1; i < factors.size(); ++i) product = product * factors[i];
        return product;
    }
    FormulaNode node;
    node.op = OpKind::contract;
    node.arguments = std::move(factors);
    node.along = std::move(along);
    return Formula(std::make_shared<const FormulaNode>(typed(std::move(node))));
}

Formula Formula::like(const Op& op, std::vector<Formula> operands) {
    FormulaNode node;
    node.op = op.kind;
    node.function = op.function;
    node.along = op.along;
    std::size_t next = 0;
    const std::size_t count = operands.size() + op.constants.size();
    for (std::size_t position = 0; position < count; ++position) {
        const auto constant = std::find_if(op.constants.begin(), op.constants.end(),
                                           [&](const Constant& c) { return c.position == position; });
        node.arguments.push_back(constant == op.constants.end() ? operands[next++] : Formula(constant->value));
    }
    return Formula(std::make_shared<const FormulaNode>(typed(std::move(node))));
}

Formula operator+(const Formula& a, const Formula& b) { return Formula::call("add", {a, b}); }
Formula operator-(const Formula& a, const Formula& b) { return Formula::call("sub", {a, b}); }
Formula operator-(const Formula& a) { return Formula::call("neg", {a}); }
Formula operator*(const Formula& a, const Formula& b) { return Formula::call("mul", {a, b}); }
Formula operator/(const Formula& a, const Formula& b) { return Formula::call("div", {a, b}); }

Formula fitted(Formula term, const std::vector<std::string>& dims) {
    std::vector<std::string> gone;
    for (const std::string& dim : term->dims) {
        if (!has(dims, dim)) gone.push_back(dim);
    }
    if (!gone.empty()) term = Formula::call("sum", {term}, gone);
    std::vector<std::string> missing;
    for (const std::string& dim : dims) {
        if (!has(term->dims, dim)) missing.push_back(dim);
    }
    return missing.empty() ? term : Formula::call("expand", {term}, missing);
}

bool has_product(const Formula& term) {
    if (!term.is_number() && !term.is_tensor() && term->op == OpKind::contract) return true;
    return std::any_of(term->arguments.begin(), term->arguments.end(), has_product);
}

namespace {

// Contractions and repetitions make a plane of operands that have none; any other operation has got its plane, with its
// mask, from an operand.
bool makes_planes(const Formula& term) {
    const bool call = !term.is_number() && !term.is_tensor();
    if (call && (term->op == OpKind::contract || term->function == "expand")) return true;
    return std::any_of(term->arguments.begin(), term->arguments.end(), makes_planes);
}

}  // namespace

Formula masked(Formula term, const std::vector<MaskedPlane>& masks) {
    if (!makes_planes(term)) return term;
    for (const MaskedPlane& plane : masks) {
        if (!has(term->dims, plane.rows) || !has(term->dims, plane.columns)) continue;
        std::vector<std::string> along{plane.rows, plane.columns};
        if (!plane.window.empty()) along.push_back(plane.window);
        term = Formula::call("causal", {term}, std::move(along));
    }
    return term;
}

}  // namespace roofline::core
