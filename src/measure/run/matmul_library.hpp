// A library of matrix products: a module that may be absent (oneDNN).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/run/device.hpp"
#include "measure/run/team.hpp"

namespace roofline::core {

class MatmulLibrary {
public:
    MatmulLibrary() = default;
    MatmulLibrary(const MatmulLibrary&) = delete;
    MatmulLibrary& operator=(const MatmulLibrary&) = delete;
    virtual ~MatmulLibrary() = default;

    [[nodiscard]] virtual std::string name() const = 0;  ///< "oneDNN 2.6.3 (AVX2)"
    /// Its own threads, bound to these processors: whatever else runs uses them as well, so that two sets of threads do not fight
    /// for the same cores. Call it first, and once.
    [[nodiscard]] virtual std::unique_ptr<Team> make_team(const std::vector<int>& processors) = 0;
    /// Functions that it does to sums on the way out.
    [[nodiscard]] virtual std::vector<MapFunction> after_matmul() const = 0;
    /// None where it has no kernel for the product that computes in its dtype: `why_not` says why.
    [[nodiscard]] virtual std::unique_ptr<StepKernel> make(const MatmulStep& step, std::string& why_not) = 0;
};

}  // namespace roofline::core
