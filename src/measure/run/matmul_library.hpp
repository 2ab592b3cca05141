// A matmul library: a module that may be absent (oneDNN).
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
    /// Makes the library's own threads, bound to these processors. Everything else uses them too, so that two sets of
    /// threads do not compete for the same cores. Call it first and only once.
    [[nodiscard]] virtual std::unique_ptr<Team> make_team(const std::vector<int>& processors) = 0;
    /// Elementwise functions that its matmuls can apply to their results before they store them.
    [[nodiscard]] virtual std::vector<MapFunction> after_matmul() const = 0;
    /// Makes a kernel; null if the library has none that computes this matmul in its dtype, with the reason in
    /// `why_not`.
    [[nodiscard]] virtual std::unique_ptr<StepKernel> make(const MatmulStep& step, std::string& why_not) = 0;
};

}  // namespace roofline::core
