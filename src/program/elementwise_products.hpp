// Elementwise products of three or more operands: in which order they are taken.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "program/order.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// An elementwise product of a statement: the places of the operations that it became, a step for each pair and one for each number,
/// its last one at the end. Factors are in the order in which the steps take them.
struct ElementwiseProduct {
    std::vector<std::size_t> steps;
    std::vector<Operand> factors;
    std::vector<Constant> numbers;
};

/// Those of two factors or more and two steps or more in a statement, however they were put in parentheses.
[[nodiscard]] std::vector<ElementwiseProduct> elementwise_products(const Statement& statement);

/// The order with the fewest FLOPs at these sizes; none while some are missing.
[[nodiscard]] std::optional<std::vector<Pair>> order_of(const ElementwiseProduct& product, const Sizes& sizes);

/// Puts the elementwise products of a program in the order that is cheapest at its sizes: numbers with the smallest factor, then the
/// factors as order_of() says. Those without all sizes stay as they are, and those to which no order is cheaper.
void order_elementwise(Program& program);

/// "(A * B) * C": the order in which the steps of a product are.
[[nodiscard]] std::string order_text(const Program& program, const Statement& statement,
                                     const ElementwiseProduct& product);

/// The orders that products of three or more operands, elementwise or with sums, have at some sizes.
[[nodiscard]] std::vector<std::vector<Pair>> product_orders(const Program& program, const Sizes& sizes);

}  // namespace roofline::core
