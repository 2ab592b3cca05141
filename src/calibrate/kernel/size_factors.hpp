// By how much a library's kernels differ from their law at some sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "calibrate/kernel/kernel_law.hpp"

namespace roofline::core {

/// The sizes of a product that a library chooses its kernel by: m, n and batch as KernelPoint has them, and the depth.
inline constexpr std::size_t size_count = 4;
inline constexpr std::size_t columns_size = 1;  ///< the place of n
inline constexpr std::size_t depth_size = 2;    ///< the place of the depth
using ProductSizes = std::array<double, size_count>;
/// Their names in calibration files.
inline constexpr std::array<std::string_view, size_count> size_names{"m", "n", "depth", "batch"};
[[nodiscard]] ProductSizes sizes_of(const KernelPoint& point);

/// The corners from (2^doublings)^first to (2^doublings)^last.
struct Powers {
    int first = 0;
    int last = 0;

    [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(last - first) + 1; }
    bool operator==(const Powers&) const = default;
};

/// Doublings from corner to corner: at powers of four, or of two.
inline constexpr int coarse = 2;
inline constexpr int fine = 1;
/// 2^30 is a billion. A file has a line for each m and n: no more than the 256 that a list may have.
inline constexpr int most_doublings = 30;
[[nodiscard]] double size_at(int power, int doublings);
/// The powers that sizes from the least to the greatest lie between; sizes below 1 count as 1, those beyond
/// 2^most_doublings as that.
[[nodiscard]] Powers powers_between(double least, double greatest, int doublings);

/// Factors on a law's times. A law is smooth, but libraries choose among kernels by size, and some choices are better
/// than others: so there is a factor at every corner of a lattice of sizes, and what lies between has that of its
/// corners, in logarithms. Sizes beyond the lattice are taken to its edge.
struct SizeFactors {
    int doublings = coarse;
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

/// Both at once, on a lattice that holds the sizes of either, for an m from the least to the greatest.
[[nodiscard]] SizeFactors product_of(const SizeFactors& a, const SizeFactors& b, double least_m = 1,
                                     double most_m = std::numeric_limits<double>::infinity());

/// What is known of the factors of one time: its logarithm over that of the law, and the products in it with the shares
/// that they have in the law's time.
struct SizedDeviation {
    struct Product {
        ProductSizes sizes;
        double share = 1;
    };
    std::vector<Product> products;
    double deviation = 0;
};

inline constexpr double all_lattices = std::numeric_limits<double>::infinity();
/// How factors are told from deviations. What a row says counts 1.
struct FactorGrain {
    int doublings = coarse;
    double alike = 0;  ///< that neighbours are alike
    double none = 0;   ///< that a factor is 1
    /// Lattices of more corners than these for each row are left alone: nearly all of them would be their neighbours'.
    double corners_of_row = all_lattices;
};
/// Of a law's factors, and of those that correct a relative's, which are smoother: by rows held out of published
/// tables, which hardly tell 0.03 from 0.1 in the former.
inline constexpr std::array<FactorGrain, 2> factor_grains{{{coarse, 0.03, 0.03, all_lattices}, {fine, 0.03, 0.03, 4}}};
inline constexpr std::array<FactorGrain, 2> correction_grains{
    {{coarse, 0.1, 0.01, all_lattices}, {fine, 0.1, 0.01, 4}}};

/// The factors that deviations tell, smooth from corner to corner: a corner that few of them touch has nearly its
/// neighbours', and one that none touches and no neighbour tells of has 1. Relative deviations count once, not squared.
/// None where there are no products. Factors are in whole thousandths, as calibration files have them.
[[nodiscard]] SizeFactors fit_factors(const std::vector<SizedDeviation>& deviations,
                                      const FactorGrain& grain = factor_grains.front());

}  // namespace roofline::core
