// What a program should compute, in plain loops and double precision: the reference for the kernels.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "measure/run/reference_element.hpp"

namespace roofline::core {

/// Result of comparing elements with the reference.
struct CheckResult {
    double max_rel_error = 0;  ///< largest |got - true| over the largest |true|
    /// Largest |got - true| over the error that rounding explains; above 1 something is wrong.
    double of_bound = 0;
    std::int64_t checked = 0;  ///< number of elements; 0 if a single element takes too long
    std::string worst;         ///< the element with the largest error: "C[3, 17] is 1.5, should be 1.25 within 1e-06"
};

struct CheckOptions {
    std::int64_t elements = 2000;  ///< elements to check of each statement's result; all if it has no more
    double max_steps = 2e8;        ///< limit on steps of the reference; fewer elements are checked if each takes long
    GroupShares shares{};          ///< for a program that ranks run
};

/// Recomputes elements of a statement's result from its stored inputs, at random places (fixed seed). It bounds the
/// error of each operation: half a unit in the last place of a rounded number, and 4 sqrt(n) + 8 such units of the sum
/// of magnitudes for a sum of n terms, because rounding errors have either sign. `held` gives the memory of each stored
/// value: of inputs before the statement, of the result after it. A statement that scatters is checked where it writes.
/// Errors: interrupted.
[[nodiscard]] Result<CheckResult> check_statement(const Program& program, const Statement& statement,
                                                  const HeldValues& held, const CheckOptions& options);

}  // namespace roofline::core
