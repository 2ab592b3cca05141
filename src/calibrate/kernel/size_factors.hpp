// Shape corrections: deviations of a library's kernels from their model at some sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "calibrate/kernel/kernel_model.hpp"

namespace roofline::core {

/// The number of sizes by which a library chooses its kernel: m, n, depth and batch of a matmul, with m, n and batch as
/// in KernelPoint.
inline constexpr std::size_t size_count = 4;
inline constexpr std::size_t columns_size = 1;  ///< index of n
inline constexpr std::size_t depth_size = 2;    ///< index of the depth
inline constexpr std::size_t batch_size = 3;    ///< index of the batch
/// The sizes of one kernel, in the order of size_names.
using ProductSizes = std::array<double, size_count>;
/// The names of the sizes in calibration files.
inline constexpr std::array<std::string_view, size_count> size_names{"m", "n", "depth", "batch"};
/// Returns the sizes of a kernel: m, n, depth and batch of a matmul; rows and columns, followed by ones, of a kernel
/// without matmuls.
[[nodiscard]] ProductSizes sizes_of(const KernelPoint& point);

/// A range of grid points along one size, from (2^doublings)^first to (2^doublings)^last.
struct Powers {
    int first = 0;
    int last = 0;

    [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(last - first) + 1; }
    bool operator==(const Powers&) const = default;
};

/// Doublings between grid points, which are powers of four or of two.
inline constexpr int coarse = 2;
inline constexpr int fine = 1;
/// Sizes are clamped to 2^30, about 1e9, so that a coarse grid has at most 16 x 16 lines in a file, one for each m and
/// n; a list in a file may have at most 256.
inline constexpr int max_doublings = 30;
/// Returns the size at a grid point: (2^doublings)^power.
[[nodiscard]] double size_at(int power, int doublings);
/// Returns the range of powers that covers sizes from `least` to `greatest`. Sizes are clamped to the range from 1 to
/// 2^max_doublings.
[[nodiscard]] Powers powers_between(double least, double greatest, int doublings);

/// Shape corrections: factors on the times of a model. The model is smooth, but libraries choose among kernels by size,
/// and some choices are better than others. There is a factor at every point of a grid of sizes, and the logarithms are
/// interpolated linearly in between. Sizes outside of the grid are clamped to its boundary.
struct SizeFactors {
    int doublings = coarse;
    std::array<Powers, size_count> powers{};
    /// Natural logarithms of the factors, with the last size changing fastest; empty: all factors are 1.
    std::vector<double> logs;

    bool operator==(const SizeFactors&) const = default;
};

/// The upper limit of a factor in thousandths; the lower limit is 1.
inline constexpr std::int64_t max_thousandths = 100'000;
/// Returns a factor in thousandths, given its logarithm.
[[nodiscard]] std::int64_t thousandths(double log);
/// Returns the logarithm of a factor, given in thousandths.
[[nodiscard]] double log_of(std::int64_t thousandths);

/// Returns the factor for a kernel: 1 if there are no corrections, and for kernels without sizes.
[[nodiscard]] double factor_of(const SizeFactors& factors, const KernelPoint& point);

/// Returns the product of both on a grid that covers the sizes of either, for m in the given range.
[[nodiscard]] SizeFactors product_of(const SizeFactors& a, const SizeFactors& b, double min_m = 1,
                                     double max_m = std::numeric_limits<double>::infinity());

/// What one measured time implies for the factors: the logarithm of its ratio to the model's time, and the matmuls in
/// it with their shares of the model's time.
struct SizedDeviation {
    struct Product {
        ProductSizes sizes;
        double share = 1;
    };
    std::vector<Product> products;
    double deviation = 0;
};

/// The value of FactorGrain::corners_per_row that allows any grid.
inline constexpr double any_grid = std::numeric_limits<double>::infinity();
/// The resolution of a grid and the weights of its regularization. The weight of a measurement is 1.
struct FactorGrain {
    int doublings = coarse;
    double smoothness = 0;  ///< weight of the difference between neighbours
    double none = 0;        ///< weight of the deviation of a factor from 1
    /// Grids with more points per measurement than this are not used, because most of their factors would be
    /// interpolated.
    double corners_per_row = any_grid;
};
/// The settings for shape corrections of a model. They minimize the held-out error of published tables; smoothness 0.03
/// and 0.1 hardly differ.
inline constexpr std::array<FactorGrain, 2> factor_grains{{{coarse, 0.03, 0.03, any_grid}, {fine, 0.03, 0.03, 4}}};
/// The settings for corrections of another library's or machine's model, which are smoother. They minimize the same
/// error.
inline constexpr std::array<FactorGrain, 2> correction_grains{{{coarse, 0.1, 0.01, any_grid}, {fine, 0.1, 0.01, 4}}};

/// Fits the factors to deviations. They are smooth: a grid point near few measurements has almost the factor of its
/// neighbours, and one without measurements or informative neighbours has 1. The fit minimizes absolute, not squared,
/// deviations. Empty if there are no matmuls. Factors are multiples of a thousandth, as in calibration files.
[[nodiscard]] SizeFactors fit_factors(const std::vector<SizedDeviation>& deviations,
                                      const FactorGrain& grain = factor_grains.front());

}  // namespace roofline::core
