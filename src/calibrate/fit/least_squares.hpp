// Least squares with constants that are not negative.
#pragma once

#include <array>
#include <cstddef>

namespace roofline::core {

template <std::size_t N>
using ConstantsOf = std::array<double, N>;

template <std::size_t N>
[[nodiscard]] double dot(const std::array<double, N>& a, const std::array<double, N>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < N; ++i) sum += a[i] * b[i];
    return sum;
}

/// Collects rows whose features times the N constants should be 1.
template <std::size_t N>
class LeastSquaresOf {
public:
    using Constants = ConstantsOf<N>;

    void add(const Constants& features, double weight) {
        for (std::size_t i = 0; i < N; ++i) {
            if (features[i] == 0) continue;  // most are, of a law that has few terms
            const double weighted = weight * features[i];
            right_[i] += weighted;
            for (std::size_t j = 0; j < N; ++j) left_[i][j] += weighted * features[j];
        }
    }

    /// The constants, none below 0, with the least sum of weight * (features . constants - 1)^2. Of few constants every
    /// subset that is not 0 is solved for, of many the subset grows and shrinks (Lawson and Hanson, Solving Least Squares Problems,
    /// chapter 23); those of features that are 0 throughout stay 0.
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

/// Of a segment of a collective's law.
inline constexpr std::size_t constant_count = 5;
using Constants = ConstantsOf<constant_count>;
using LeastSquares = LeastSquaresOf<constant_count>;
/// Of the law of an exchange with experts.
inline constexpr std::size_t exchange_constant_count = 7;
/// Of a kernel's law.
inline constexpr std::size_t kernel_constant_count = 12;
using KernelConstants = ConstantsOf<kernel_constant_count>;
using KernelLeastSquares = LeastSquaresOf<kernel_constant_count>;

extern template class LeastSquaresOf<constant_count>;
extern template class LeastSquaresOf<exchange_constant_count>;
extern template class LeastSquaresOf<kernel_constant_count>;

}  // namespace roofline::core
