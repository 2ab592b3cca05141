// Real roots of a polynomial in one variable, and where one sum of terms overtakes another.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algebra/polynomial.hpp"

namespace roofline::core {

/// Coefficients by rising power: c[0] + c[1] x + ...
using Univariate = std::vector<double>;

/// -1, 0 or 1, the sign of the value at x > 0; large powers do not overflow.
[[nodiscard]] inline int sign(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }
[[nodiscard]] int sign_at(const Univariate& coefficients, double x);

/// All real roots x > 0, rising, each once. Exact for degree 1 and 2 up to rounding, else isolated and bisected to rounding.
[[nodiscard]] std::vector<double> positive_roots(const Univariate& coefficients);

/// A sum of polynomials, each times a number: times as functions of sizes, e.g. sum of flops_i * (1 / rate_i).
using WeightedSum = std::vector<std::pair<Polynomial, double>>;

/// Where `ours` (say math time) overtakes `theirs` (a memory level's time) as one dimension grows.
struct Crossing {
    enum class State { crossing, always, never };
    State state = State::never;  ///< over sizes x >= 1: always: ours >= theirs everywhere; never: below everywhere
    bool above = true;           ///< of a crossing: ours is the greater above the root (else below it)
    std::optional<double>
        root;  ///< the real x > 0 where they are equal; kept when it is 1 or less and the state is `always`

    /// The first whole size at which ours is the greater, or the last one when that is so below the root. A root that is
    /// whole but for rounding is itself. Empty without a root or beyond what a size can be.
    [[nodiscard]] std::optional<std::int64_t> whole_size() const;

    bool operator==(const Crossing&) const = default;
};

/// Solves ours(x) = theirs(x) for the dimension `dim`, the others at `sizes`; ceil(dim/k) is taken as dim/k. Empty when another
/// dimension has no size or a term is not finite. When there are several roots, the first above 1 at which `ours` overtakes, or failing that the first at which it falls behind.
[[nodiscard]] std::optional<Crossing> solve_crossing(const WeightedSum& ours, const WeightedSum& theirs,
                                                     const std::string& dim, const Sizes& sizes);

/// The same with every other dimension growing together without bound: the root, at which `ours` overtakes, of the terms that
/// survive. Empty when it does not converge (no such root, or it depends on how the others grow beside each other).
[[nodiscard]] std::optional<double> solve_crossing_limit(const WeightedSum& ours, const WeightedSum& theirs,
                                                         const std::string& dim);

}  // namespace roofline::core
