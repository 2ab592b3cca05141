// The constants of a kernel's law, fitted to timed kernels of one class.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "calibrate/kernel/kernel_fit.hpp"
#include "calibrate/kernel/kernel_folds.hpp"

namespace roofline::core {

/// Fewer points than these are not fitted: there are six constants at the least.
inline constexpr std::size_t fewest_kernels = 8;

/// Of the error of held out rows: what more numbers must make it to be worth having.
inline constexpr double worth = 0.97;

/// A fit, and how it would be without the kernels of each fold.
struct FoldedFit {
    KernelFit fit;
    FoldsOfShapes folds;
    std::array<KernelFit, kernel_folds> without;
};

/// Fits one law to the kernels. Relative deviations count once, not squared, so a few wild rows do not bend it. Where
/// the points say nothing of a constant (all bound by memory: the fraction of math), it stays that of the bound. The
/// order of the points does not matter. Of more than 2,000 so many give the constants, spread evenly, and 500 the
/// terms; errors are those of all. Factors by size are taken where they make the error of held out rows smaller by 3 %
/// of it, at every power of four or, where that is worth as much again, of two; and so are laws of attention by heads
/// or by their size, and of other products by rows, where there are timed kernels enough of
/// each. Empty when fewer than fewest_kernels are right.
[[nodiscard]] std::optional<FoldedFit> fit_kernels_in_folds(std::vector<TimedKernel> kernels);
[[nodiscard]] std::optional<KernelFit> fit_kernels(std::vector<TimedKernel> kernels);

/// A relative's laws, those of another library on the same machine or of the same on a machine like it, with factors
/// that make up for what these kernels take otherwise: libraries choose alike, so where kernels are few that may be
/// nearer than what they tell by themselves. A shape that is held out is so among the relative's rows as well. Empty
/// when fewer than fewest_kernels are right, or some are no products.
[[nodiscard]] std::optional<KernelFit> fit_like(const FoldedFit& relative, std::vector<TimedKernel> kernels);

}  // namespace roofline::core
