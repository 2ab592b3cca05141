// The table of derivatives of all operations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "program/formula.hpp"
#include "program/program.hpp"

namespace roofline::core {

/// An operation whose derivative is wanted.
struct Differentiated {
    const Program& program;
    const Op& op;
    std::vector<Formula> arguments;  ///< numbers and tensors, as the operation takes them
    Formula r;                       ///< its result
    Formula g;                       ///< the gradient of the result

    [[nodiscard]] const Formula& x() const { return arguments[0]; }
    [[nodiscard]] const Formula& y() const { return arguments[1]; }
    [[nodiscard]] const Formula& z() const { return arguments[2]; }
};

/// Returns the gradients of the arguments, in their order, with the dimensions that the formulas have: broadcasts are
/// not summed yet. An argument without a gradient has none: indices, conditions, what a scatter overwrites. Errors: no
/// derivative, with the operation's place.
[[nodiscard]] Result<std::vector<std::optional<Formula>>> adjoint_of(const Differentiated& d);

}  // namespace roofline::core
