// Expressions as trees: the form of a derivative before it becomes the operations of a statement.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "program/program.hpp"

namespace roofline::core {

struct FormulaNode;

/// A number, a tensor, or an operation on others. It is cheap to copy.
class Formula {
public:
    Formula(double number);  // NOLINT(google-explicit-constructor): numbers are written directly in formulas

    [[nodiscard]] static Formula tensor(ValueId value, std::vector<std::string> dims);

    /// Returns an operation; its dimensions are derived. Numbers are allowed among the arguments of elementwise
    /// functions.
    [[nodiscard]] static Formula call(std::string function, std::vector<Formula> arguments,
                                      std::vector<std::string> along = {});
    /// Returns a contraction over `along`; if that is empty, an elementwise product.
    [[nodiscard]] static Formula product(std::vector<Formula> factors, std::vector<std::string> along);
    /// Returns the operation of a program with other operands.
    [[nodiscard]] static Formula like(const Op& op, std::vector<Formula> operands);

    [[nodiscard]] const FormulaNode& operator*() const { return *node_; }
    [[nodiscard]] const FormulaNode* operator->() const { return node_.get(); }
    [[nodiscard]] bool is_tensor() const;
    [[nodiscard]] bool is_number() const;

private:
    explicit Formula(std::shared_ptr<const FormulaNode> node) : node_(std::move(node)) {}
    std::shared_ptr<const FormulaNode> node_;
};

struct FormulaNode {
    enum class Kind { number, tensor, op };
    Kind kind = Kind::number;
    double number = 0;
    ValueId value = 0;
    OpKind op = OpKind::apply;
    std::string function;
    std::vector<std::string> along;
    std::vector<Formula> arguments;
    std::vector<std::string> dims;
};

[[nodiscard]] Formula operator+(const Formula& a, const Formula& b);
[[nodiscard]] Formula operator-(const Formula& a, const Formula& b);
[[nodiscard]] Formula operator-(const Formula& a);
[[nodiscard]] Formula operator*(const Formula& a, const Formula& b);
[[nodiscard]] Formula operator/(const Formula& a, const Formula& b);

/// Returns the same numbers with exactly these dimensions: summed over others, repeated along missing ones.
[[nodiscard]] Formula fitted(Formula term, const std::vector<std::string>& dims);

/// Calls visit(value) for every tensor of the tree, from left to right.
template <class Visit>
void each_tensor(const Formula& term, Visit visit) {
    if (term.is_tensor()) visit(term->value);
    for (const Formula& argument : term->arguments) each_tensor(argument, visit);
}

/// Whether a contraction is among the operations.
[[nodiscard]] bool has_product(const Formula& term);

/// Returns a term with its contractions and repetitions masked by those masks of which it has both dimensions: half of
/// the plane is not computed.
[[nodiscard]] Formula masked(Formula term, const std::vector<MaskedPlane>& masks);

}  // namespace roofline::core
