// Expressions as trees: what a derivative is before it becomes the operations of a statement.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "program/program.hpp"

namespace roofline {

struct TermNode;

/// A number, a tensor, or an operation on others. Cheap to copy.
class Term {
public:
    Term(double number);  // NOLINT(google-explicit-constructor): numbers stand in formulas as they are written

    [[nodiscard]] static Term tensor(ValueId value, std::vector<std::string> dims);

    /// An operation; its dimensions follow. Numbers are allowed among the arguments of elementwise functions.
    [[nodiscard]] static Term call(std::string function, std::vector<Term> arguments,
                                   std::vector<std::string> along = {});
    /// A product summed over `along`; where nothing is summed, an elementwise one.
    [[nodiscard]] static Term product(std::vector<Term> factors, std::vector<std::string> along);
    /// The operation of a program with other operands.
    [[nodiscard]] static Term like(const Op& op, std::vector<Term> operands);

    [[nodiscard]] const TermNode& operator*() const { return *node_; }
    [[nodiscard]] const TermNode* operator->() const { return node_.get(); }
    [[nodiscard]] bool is_tensor() const;
    [[nodiscard]] bool is_number() const;

private:
    explicit Term(std::shared_ptr<const TermNode> node) : node_(std::move(node)) {}
    std::shared_ptr<const TermNode> node_;
};

struct TermNode {
    enum class Kind { number, tensor, op };
    Kind kind = Kind::number;
    double number = 0;
    ValueId value = 0;
    OpKind op = OpKind::apply;
    std::string function;
    std::vector<std::string> along;
    std::vector<Term> arguments;
    std::vector<std::string> dims;
};

[[nodiscard]] Term operator+(const Term& a, const Term& b);
[[nodiscard]] Term operator-(const Term& a, const Term& b);
[[nodiscard]] Term operator-(const Term& a);
[[nodiscard]] Term operator*(const Term& a, const Term& b);
[[nodiscard]] Term operator/(const Term& a, const Term& b);

/// The same numbers with exactly these dimensions: summed over others, repeated along those that are missing.
[[nodiscard]] Term fitted(Term term, const std::vector<std::string>& dims);

/// Calls visit(value) for every tensor of the tree, from left to right.
template <class Visit>
void each_tensor(const Term& term, Visit visit) {
    if (term.is_tensor()) visit(term->value);
    for (const Term& argument : term->arguments) each_tensor(argument, visit);
}

/// Whether a product with a sum is among the operations.
[[nodiscard]] bool has_product(const Term& term);

}  // namespace roofline
