// The plan of one contraction: the pairwise order, the matmuls it becomes, and their FLOPs.
#pragma once

#include <string>
#include <vector>

#include "program/program.hpp"
#include "work/work.hpp"

namespace roofline::core {

struct ContractionPlan {
    std::vector<MatmulShape> matmuls;
    std::string order;    ///< "(A * B) * C", empty for two operands
    bool by_size = true;  ///< false: sizes are missing, so operands were taken as written
};

/// Plans a contraction of n operands. If sizes are known the cheapest pairwise order is taken: exactly for up to 10
/// operands, greedily beyond. A dimension is summed as soon as neither a later operand nor the result has it.
[[nodiscard]] ContractionPlan plan_contraction(const Program& program, const Op& op, bool exact_flops);

}  // namespace roofline::core
