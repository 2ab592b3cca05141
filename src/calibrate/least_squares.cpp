#include "calibrate/least_squares.hpp"

#include <cmath>
#include <utility>

namespace roofline {

/// Gauss-Jordan with pivots. False when the equations do not decide or a constant comes out negative.
bool LeastSquares::solve_for(unsigned subset, Constants& constants) const {
    std::array<std::size_t, constant_count> index{};
    std::size_t size = 0;
    for (std::size_t i = 0; i < constant_count; ++i) {
        if ((subset >> i & 1U) != 0) index[size++] = i;
    }
    std::array<std::array<double, constant_count + 1>, constant_count> m{};
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) m[i][j] = left_[index[i]][index[j]];
        m[i][i] *= 1 + 1e-9;  // features that are proportional to each other still have a solution
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
        const double value = m[i][size] / m[i][i];
        if (!(value >= 0)) return false;
        constants[index[i]] = value;
    }
    return true;
}

/// By how much the sum of squares is below that of all constants 0.
double LeastSquares::gain(const Constants& constants) const {
    double gain = 0;
    for (std::size_t i = 0; i < constant_count; ++i) {
        gain += 2 * right_[i] * constants[i] - constants[i] * dot(left_[i], constants);
    }
    return gain;
}

Constants LeastSquares::solve() const {
    unsigned known = 0;
    for (std::size_t i = 0; i < constant_count; ++i) {
        if (left_[i][i] > 0) known |= 1U << i;
    }
    // where nothing comes out negative without the condition, it changes nothing
    Constants best{};
    if (known != 0 && solve_for(known, best)) return best;
    best = {};
    double most = 0;
    for (unsigned subset = 1; subset < (1U << constant_count); ++subset) {
        Constants constants{};
        if ((subset & ~known) != 0 || !solve_for(subset, constants)) continue;
        const double better = gain(constants);
        if (better <= most) continue;
        most = better;
        best = constants;
    }
    return best;
}

}  // namespace roofline
