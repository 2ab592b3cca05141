// The order of multiplication in elementwise products of three or more operands.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "program/order.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// An elementwise product of a statement: the indices of the operations that it consists of, one per pair of factors
/// and one per number, the last one at the end. Factors are in the order in which these operations take them.
struct ElementwiseProduct {
    std::vector<std::size_t> operations;
    std::vector<Operand> factors;
    std::vector<Constant> numbers;
};

/// Returns the products with at least two factors and two operations in a statement, regardless of parentheses.
[[nodiscard]] std::vector<ElementwiseProduct> elementwise_products(const Statement& statement);

/// Returns the order with the fewest FLOPs at these sizes; empty while some are missing.
[[nodiscard]] std::optional<std::vector<Pair>> order_of(const ElementwiseProduct& product, const Sizes& sizes);

/// Puts the elementwise products of a program in the order that is cheapest at its sizes: numbers with the smallest
/// factor, then the factors as order_of() says. Products without all sizes stay as they are, and so do products for
/// which no order is cheaper.
void order_elementwise(Program& program);

/// Returns the current order of a product: "(A * B) * C".
[[nodiscard]] std::string order_text(const Program& program, const Statement& statement,
                                     const ElementwiseProduct& product);

/// Returns the orders that products of three or more operands, elementwise or with sums, have at some sizes.
[[nodiscard]] std::vector<std::vector<Pair>> product_orders(const Program& program, const Sizes& sizes);

}  // namespace roofline::core
