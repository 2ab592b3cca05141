#include "program/term.hpp"

#include <algorithm>

#include "program/typing.hpp"

namespace roofline {

namespace {

// The operation as one of a program, as far as its dimensions are concerned.
Op shape_of(const TermNode& node) {
    Op op;
    op.kind = node.op;
    op.function = node.function;
    op.along = node.along;
    for (const Term& argument : node.arguments) {
        if (!argument.is_number()) op.inputs.push_back({0, argument->dims});
    }
    return op;
}

TermNode typed(TermNode node) {
    node.kind = TermNode::Kind::op;
    node.dims = result_dims(shape_of(node));
    return node;
}

}  // namespace

Term::Term(double number) {
    TermNode node;
    node.number = number;
    node_ = std::make_shared<const TermNode>(std::move(node));
}

bool Term::is_tensor() const { return node_->kind == TermNode::Kind::tensor; }
bool Term::is_number() const { return node_->kind == TermNode::Kind::number; }

Term Term::tensor(ValueId value, std::vector<std::string> dims) {
    TermNode node;
    node.kind = TermNode::Kind::tensor;
    node.value = value;
    node.dims = std::move(dims);
    return Term(std::make_shared<const TermNode>(std::move(node)));
}

Term Term::call(std::string function, std::vector<Term> arguments, std::vector<std::string> along) {
    TermNode node;
    node.function = std::move(function);
    node.arguments = std::move(arguments);
    node.along = std::move(along);
    // A product with a number has it on the right, as it is read.
    if (node.function == "mul" && node.arguments.front().is_number()) {
        std::swap(node.arguments.front(), node.arguments.back());
    }
    return Term(std::make_shared<const TermNode>(typed(std::move(node))));
}

Term Term::product(std::vector<Term> factors, std::vector<std::string> along) {
    if (along.empty()) {
        Term product = factors.front();
        for (std::size_t i = 1; i < factors.size(); ++i) product = product * factors[i];
        return product;
    }
    TermNode node;
    node.op = OpKind::contract;
    node.arguments = std::move(factors);
    node.along = std::move(along);
    return Term(std::make_shared<const TermNode>(typed(std::move(node))));
}

Term Term::like(const Op& op, std::vector<Term> operands) {
    TermNode node;
    node.op = op.kind;
    node.function = op.function;
    node.along = op.along;
    std::size_t next = 0;
    const std::size_t count = operands.size() + op.constants.size();
    for (std::size_t position = 0; position < count; ++position) {
        const auto constant = std::find_if(op.constants.begin(), op.constants.end(),
                                           [&](const Constant& c) { return c.position == position; });
        node.arguments.push_back(constant == op.constants.end() ? operands[next++] : Term(constant->value));
    }
    return Term(std::make_shared<const TermNode>(typed(std::move(node))));
}

Term operator+(const Term& a, const Term& b) { return Term::call("add", {a, b}); }
Term operator-(const Term& a, const Term& b) { return Term::call("sub", {a, b}); }
Term operator-(const Term& a) { return Term::call("neg", {a}); }
Term operator*(const Term& a, const Term& b) { return Term::call("mul", {a, b}); }
Term operator/(const Term& a, const Term& b) { return Term::call("div", {a, b}); }

Term fitted(Term term, const std::vector<std::string>& dims) {
    std::vector<std::string> gone;
    for (const std::string& dim : term->dims) {
        if (!has(dims, dim)) gone.push_back(dim);
    }
    if (!gone.empty()) term = Term::call("sum", {term}, gone);
    std::vector<std::string> missing;
    for (const std::string& dim : dims) {
        if (!has(term->dims, dim)) missing.push_back(dim);
    }
    return missing.empty() ? term : Term::call("expand", {term}, missing);
}

bool has_product(const Term& term) {
    if (!term.is_number() && !term.is_tensor() && term->op == OpKind::contract) return true;
    return std::any_of(term->arguments.begin(), term->arguments.end(), has_product);
}

}  // namespace roofline
