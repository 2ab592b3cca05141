// Least squares with constants that are not negative.
#pragma once

#include <array>
#include <cstddef>

namespace roofline {

inline constexpr std::size_t constant_count = 5;
using Constants = std::array<double, constant_count>;

[[nodiscard]] inline double dot(const Constants& a, const Constants& b) {
    double sum = 0;
    for (std::size_t i = 0; i < constant_count; ++i) sum += a[i] * b[i];
    return sum;
}

/// Collects rows whose features times the constants should be 1.
class LeastSquares {
public:
    void add(const Constants& features, double weight) {
        for (std::size_t i = 0; i < constant_count; ++i) {
            right_[i] += weight * features[i];
            for (std::size_t j = 0; j < constant_count; ++j) left_[i][j] += weight * features[i] * features[j];
        }
    }

    /// The constants, none below 0, with the least sum of weight * (features . constants - 1)^2. Every subset of constants that are
    /// not 0 is solved for, 31 of them at most; those of features that are 0 throughout stay 0.
    [[nodiscard]] Constants solve() const;

private:
    [[nodiscard]] bool solve_for(unsigned subset, Constants& constants) const;
    [[nodiscard]] double gain(const Constants& constants) const;

    std::array<Constants, constant_count> left_{};
    Constants right_{};
};

}  // namespace roofline
