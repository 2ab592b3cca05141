// In which order a product of many operands is cheapest.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "algebra/polynomial.hpp"

namespace roofline::core {

/// Two places in the list of what is left; the product goes to the first and the second is taken out. first < second.
struct Pair {
    std::size_t first = 0;
    std::size_t second = 1;

    bool operator==(const Pair&) const = default;
};

/// The pairwise order with the fewest FLOPs: exactly for up to 10 operands, else the cheapest pair again and again. A dimension
/// is summed as soon as neither another operand nor the result has it. All sizes are known, the operands have at most
/// most_product_dims dimensions together.
[[nodiscard]] std::vector<Pair> cheapest_order(const std::vector<std::vector<std::string>>& operands,
                                               const std::vector<std::string>& result, const Sizes& sizes);

}  // namespace roofline::core
