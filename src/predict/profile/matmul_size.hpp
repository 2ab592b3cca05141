// Sizes of matmuls, by which recorded ones are found among those of a plan.
#pragma once

#include <array>
#include <compare>
#include <vector>

#include "program/program.hpp"
#include "work/work.hpp"

namespace roofline::core {

/// A matmul, so that those of one weight in the forward pass and in both gradients are the same: (batch) m k, k n -> m
/// n, whatever of the three is summed.
struct MatmulSize {
    double batch = 1;
    std::array<double, 3> sides{1, 1, 1};  ///< m, n and k in ascending order

    [[nodiscard]] double volume() const { return batch * sides[0] * sides[1] * sides[2]; }
    auto operator<=>(const MatmulSize&) const = default;
};

/// Returns the matmuls of a kernel at the program's sizes. Those of a dimension without a size are left out.
[[nodiscard]] std::vector<MatmulSize> matmul_sizes(const Program& local, const KernelWork& kernel);

}  // namespace roofline::core
