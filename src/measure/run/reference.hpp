// What a program should compute, in plain loops and double precision: the judge of the kernels.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "measure/run/reference_element.hpp"

namespace roofline::core {

/// What was found at the elements that were looked at.
struct CheckResult {
    double max_rel_error = 0;  ///< largest |got - true| over the largest |true|
    double of_bound = 0;       ///< largest |got - true| over what rounding explains; above 1 something is wrong
    std::int64_t checked = 0;  ///< elements; 0 where one of them alone takes too long
    std::string worst;         ///< the element that is furthest off: "C[3, 17] is 1.5, should be 1.25 within 1e-06"
};

struct CheckOptions {
    std::int64_t elements = 2000;  ///< of each statement's result; all, where it has no more
    double most_steps = 2e8;       ///< of the reference; fewer elements where each takes long
    GroupShares shares{};          ///< of a program that ranks run
};

/// Recomputes elements of a statement's result from its inputs as they are stored, at random places (fixed seed). Errors of each
/// step are bounded along the way: half a unit in the last place of what is rounded; of a sum of n terms 4 sqrt(n) + 8 of them, of
/// the sum of magnitudes, since rounding goes either way.
/// `held` gives the memory of each stored value before the statement (of its inputs) and after it (of its result). A statement
/// that scatters is checked where it writes. Errors: interrupted.
[[nodiscard]] Result<CheckResult> check_statement(const Program& program, const Statement& statement,
                                                  const HeldValues& held, const CheckOptions& options);

}  // namespace roofline::core
