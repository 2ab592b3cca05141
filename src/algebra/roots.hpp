// Real roots of a polynomial in one variable, and the size at which one sum of terms overtakes another.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algebra/polynomial.hpp"

namespace roofline::core {

/// Coefficients by ascending power: c[0] + c[1] x + ...
using Univariate = std::vector<double>;

/// -1, 0 or 1, the sign of the value at x > 0; large powers do not overflow.
[[nodiscard]] inline int sign(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }
[[nodiscard]] int sign_at(const Univariate& coefficients, double x);

/// Returns all real roots x > 0 in ascending order, each once. Exact for degree 1 and 2 up to rounding, otherwise
/// isolated and bisected to rounding.
[[nodiscard]] std::vector<double> positive_roots(const Univariate& coefficients);

/// A sum of polynomials, each times a number: times as functions of sizes, e.g. sum of flops_i * (1 / rate_i).
using WeightedSum = std::vector<std::pair<Polynomial, double>>;

/// The point at which `ours` (for example math time) overtakes `theirs` (a memory level's time) as one dimension grows.
struct Crossing {
    enum class State { crossing, always, never };
    State state = State::never;  ///< over sizes x >= 1: always: ours >= theirs everywhere; never: below everywhere
    bool above = true;           ///< for a crossing: ours is greater above the root (otherwise below it)
    std::optional<double>
        root;  ///< the real x > 0 where they are equal; also given when it is 1 or less and the state is `always`

    /// Returns the first whole size at which ours is greater, or the last one if ours is greater below the root. A root
    /// that is whole except for rounding counts as whole. Empty without a root or if the size is too large for its
    /// type.
    [[nodiscard]] std::optional<std::int64_t> whole_size() const;

    bool operator==(const Crossing&) const = default;
};

/// Solves ours(x) = theirs(x) for the dimension `dim`, with the others at `sizes`; ceil(dim/k) counts as dim/k. Empty
/// when another dimension has no size or a term is not finite. If there are several roots, the result is the first
/// above 1 at which `ours` overtakes, or else the first at which it falls behind.
[[nodiscard]] std::optional<Crossing> solve_crossing(const WeightedSum& ours, const WeightedSum& theirs,
                                                     const std::string& dim, const Sizes& sizes);

/// The same as every other dimension grows together without bound: the root, at which `ours` overtakes, of the terms
/// that remain. Empty when it does not converge (no such root, or it depends on how the others grow relative to each
/// other).
[[nodiscard]] std::optional<double> solve_crossing_limit(const WeightedSum& ours, const WeightedSum& theirs,
                                                         const std::string& dim);

}  // namespace roofline::core
