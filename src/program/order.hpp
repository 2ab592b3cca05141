// The cheapest order of a product of many operands.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "algebra/polynomial.hpp"

namespace roofline::core {

/// Two indices into the list of remaining operands; the product replaces the first one and the second one is removed.
/// first < second.
struct Pair {
    std::size_t first = 0;
    std::size_t second = 1;

    bool operator==(const Pair&) const = default;
};

/// Returns the pairwise order with the fewest FLOPs: exactly for up to 10 operands, greedily beyond. A dimension is
/// summed as soon as neither another operand nor the result has it. All sizes must be known, and the operands may have
/// at most max_product_dims dimensions together.
[[nodiscard]] std::vector<Pair> cheapest_order(const std::vector<std::vector<std::string>>& operands,
                                               const std::vector<std::string>& result, const Sizes& sizes);

}  // namespace roofline::core
