// Least squares with non-negative constants.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace roofline::core {

/// The N constants of a linear model.
template <std::size_t N>
using ConstantsOf = std::array<double, N>;

/// Returns the scalar product of two vectors.
template <std::size_t N>
[[nodiscard]] double dot(const std::array<double, N>& a, const std::array<double, N>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < N; ++i) sum += a[i] * b[i];
    return sum;
}

/// A least-squares problem with N non-negative constants. Each equation requires the scalar product of its features and
/// the constants to be 1.
template <std::size_t N>
class LeastSquaresOf {
public:
    using Constants = ConstantsOf<N>;

    /// Adds an equation with a weight.
    void add(const Constants& features, double weight) {
        for (std::size_t i = 0; i < N; ++i) {
            if (features[i] == 0) continue;  // most are 0 in a model with few terms
            const double weighted = weight * features[i];
            right_[i] += weighted;
            for (std::size_t j = 0; j < N; ++j) left_[i][j] += weighted * features[j];
        }
    }

    /// Returns the non-negative constants that minimize the sum of weight * (features . constants - 1)^2. For few
    /// constants every subset of nonzero constants is tried; for many, the active set grows and shrinks (Lawson and
    /// Hanson, Solving Least Squares Problems, chapter 23). Constants whose features are always 0 are 0.
    [[nodiscard]] Constants solve() const;

private:
    [[nodiscard]] bool solve_for(unsigned subset, Constants& constants) const;
    [[nodiscard]] bool solve_signed(unsigned subset, Constants& constants) const;
    [[nodiscard]] Constants best_subset(unsigned known) const;
    [[nodiscard]] Constants grown(unsigned known) const;
    [[nodiscard]] double gain(const Constants& constants) const;

    std::array<Constants, N> left_{};
    Constants right_{};
};

/// Gauss-Jordan elimination with pivoting. Returns false if the system is singular.
template <std::size_t N>
bool LeastSquaresOf<N>::solve_signed(unsigned subset, Constants& constants) const {
    std::array<std::size_t, N> index{};
    std::size_t size = 0;
    for (std::size_t i = 0; i < N; ++i) {
        if ((subset >> i & 1U) != 0) index[size++] = i;
    }
    std::array<std::array<double, N + 1>, N> m{};
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) m[i][j] = left_[index[i]][index[j]];
        m[i][i] *= 1 + 1e-9;  // keeps the system solvable if features are proportional to each other
        m[i][size] = right_[index[i]];
    }
    for (std::size_t i = 0; i < size; ++i) {
        std::size_t pivot = i;
        for (std::size_t j = i + 1; j < size; ++j) {
            if (std::abs(m[j][i]) > std::abs(m[pivot][i])) pivot = j;
        }
        if (!(std::abs(m[pivot][i]) > 1e-300)) return false;
        std::swap(m[pivot], m[i]);
        for (std::size_t j = 0; j < size; ++j) {
            if (j == i) continue;
            const double factor = m[j][i] / m[i][i];
            for (std::size_t c = i; c <= size; ++c) m[j][c] -= factor * m[i][c];
        }
    }
    constants = {};
    for (std::size_t i = 0; i < size; ++i) {
        constants[index[i]] = m[i][size] / m[i][i];
        if (!std::isfinite(constants[index[i]])) return false;
    }
    return true;
}

/// Also returns false if a constant is negative.
template <std::size_t N>
bool LeastSquaresOf<N>::solve_for(unsigned subset, Constants& constants) const {
    if (!solve_signed(subset, constants)) return false;
    return std::none_of(constants.begin(), constants.end(), [](double value) { return value < 0; });
}

/// Reduction of the sum of squares compared with all constants being 0.
template <std::size_t N>
double LeastSquaresOf<N>::gain(const Constants& constants) const {
    double gain = 0;
    for (std::size_t i = 0; i < N; ++i) {
        gain += 2 * right_[i] * constants[i] - constants[i] * dot(left_[i], constants);
    }
    return gain;
}

template <std::size_t N>
ConstantsOf<N> LeastSquaresOf<N>::best_subset(unsigned known) const {
    Constants best{};
    double most = 0;
    for (unsigned subset = 1; subset < (1U << N); ++subset) {
        Constants constants{};
        if ((subset & ~known) != 0 || !solve_for(subset, constants)) continue;
        const double better = gain(constants);
        if (better <= most) continue;
        most = better;
        best = constants;
    }
    return best;
}

/// Adds the constant with the steepest descent, and steps back towards the previous solution if another constant would
/// become negative.
template <std::size_t N>
ConstantsOf<N> LeastSquaresOf<N>::grown(unsigned known) const {
    Constants found{};
    unsigned subset = 0;
    for (std::size_t turn = 0; turn < 3 * N; ++turn) {
        std::size_t next = N;
        double most = 0;
        for (std::size_t i = 0; i < N; ++i) {
            if ((known >> i & 1U) == 0 || (subset >> i & 1U) != 0) continue;
            const double slope = right_[i] - dot(left_[i], found);
            if (slope <= 1e-9 * std::abs(right_[i]) || slope / std::sqrt(left_[i][i]) <= most) continue;
            most = slope / std::sqrt(left_[i][i]);
            next = i;
        }
        if (next == N) break;
        subset |= 1U << next;
        Constants wanted{};
        while (solve_signed(subset, wanted)) {
            double step = 1;
            for (std::size_t i = 0; i < N; ++i) {
                if (wanted[i] < 0) step = std::min(step, found[i] / (found[i] - wanted[i]));
            }
            if (step == 1) {
                found = wanted;
                break;
            }
            for (std::size_t i = 0; i < N; ++i) {
                found[i] += step * (wanted[i] - found[i]);
                if (wanted[i] < 0 && found[i] <= 1e-12 * std::abs(wanted[i])) {
                    found[i] = 0;
                    subset &= ~(1U << i);
                }
            }
        }
    }
    return found;
}

template <std::size_t N>
ConstantsOf<N> LeastSquaresOf<N>::solve() const {
    unsigned known = 0;
    for (std::size_t i = 0; i < N; ++i) {
        if (left_[i][i] > 0) known |= 1U << i;
    }
    // if the unconstrained solution has no negative constant, it is also the constrained one
    Constants best{};
    if (known != 0 && solve_for(known, best)) return best;
    return N <= 6 ? best_subset(known) : grown(known);
}

/// Constants of a segment of a collective model.
inline constexpr std::size_t constant_count = 5;
using Constants = ConstantsOf<constant_count>;
using LeastSquares = LeastSquaresOf<constant_count>;

}  // namespace roofline::core
