// By how much a library's kernels differ from their law at some sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "calibrate/kernel_law.hpp"

namespace roofline {

/// The sizes of a product that a library chooses its kernel by: m, n and batch as KernelPoint has them, and the depth.
inline constexpr std::size_t size_count = 4;
using ProductSizes = std::array<double, size_count>;
/// Their names in calibration files.
inline constexpr std::array<std::string_view, size_count> size_names{"m", "n", "depth", "batch"};
[[nodiscard]] ProductSizes sizes_of(const KernelPoint& point);

/// The powers of four from 4^first to 4^last.
struct Powers {
    int first = 0;
    int last = 0;

    [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(last - first) + 1; }
    bool operator==(const Powers&) const = default;
};

/// 4^power.
[[nodiscard]] double size_at(int power);
/// 4^15 is a billion. A file has a line for each m and n: no more than the 256 that a list may have.
inline constexpr int most_power = 15;
/// The powers that sizes from the least to the greatest lie between; sizes below 1 count as 1, those beyond 4^most_power as that.
[[nodiscard]] Powers powers_between(double least, double greatest);

/// Factors on a law's times. A law is smooth, but libraries choose among kernels by size, and some choices are better than
/// others: so there is a factor at every corner of a lattice of sizes, and what lies between has that of its corners, in logarithms.
/// Sizes beyond the lattice are taken to its edge.
struct SizeFactors {
    std::array<Powers, size_count> powers{};
    std::vector<double> logs;  ///< natural logarithms of the factors, the last size's change fastest; none: all are 1

    bool operator==(const SizeFactors&) const = default;
};

/// In thousandths, 1 to most_thousandths, and the logarithm of so many.
inline constexpr std::int64_t most_thousandths = 100'000;
[[nodiscard]] std::int64_t thousandths(double log);
[[nodiscard]] double log_of(std::int64_t thousandths);

/// 1 where there are none, and for kernels without products.
[[nodiscard]] double factor_of(const SizeFactors& factors, const KernelPoint& point);

/// What is known of the factors of one time: its logarithm over that of the law, and the products in it with the shares that they have
/// in the law's time.
struct SizedDeviation {
    struct Product {
        ProductSizes sizes;
        double share = 1;
    };
    std::vector<Product> products;
    double deviation = 0;
};

/// The factors that deviations tell, smooth from corner to corner: a corner that few of them touch has nearly its neighbours',
/// and one that none touches and no neighbour tells of has 1. Relative deviations count once, not squared. None where there are no
/// products. Factors are in whole thousandths, as calibration files have them.
[[nodiscard]] SizeFactors fit_factors(const std::vector<SizedDeviation>& deviations);

}  // namespace roofline
