// Fit of a kernel model to timed kernels of one class.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "calibrate/kernel/kernel_fit.hpp"
#include "calibrate/kernel/kernel_folds.hpp"

namespace roofline::core {

/// The minimum number of measurements. A model has six parameters, of which those that the measurements do not
/// determine keep their values of the lower bound.
inline constexpr std::size_t min_kernels = 6;

/// Factor by which additional parameters must reduce the held-out error to be accepted.
inline constexpr double max_error_ratio = 0.97;

/// A fit, and the fits without the kernels of each fold.
struct FoldedFit {
    KernelFit fit;
    FoldsOfShapes folds;
    std::array<KernelFit, kernel_folds> without;
};

/// Fits one model to the kernels. It minimizes absolute relative deviations, not their squares, so that a few outliers
/// have little influence. A parameter on which the measurements do not depend (the fraction of the matmul rate if all
/// are memory-bound) keeps its value of the lower bound. The order of the kernels does not matter. At most 2,000 evenly
/// spaced measurements determine the parameters, and 500 the terms; the errors are those on all measurements. Shape
/// corrections are used if they reduce the held-out error by 3 %, on a grid of powers of four or, if that gives another
/// 3 %, of two. The same applies to separate models of attention by heads or head size, and of other matmuls by rows,
/// if each has enough measurements. Empty if fewer than min_kernels measurements are valid.
[[nodiscard]] std::optional<FoldedFit> fit_kernels_in_folds(std::vector<TimedKernel> kernels);
/// As above, without the fits for each fold.
[[nodiscard]] std::optional<KernelFit> fit_kernels(std::vector<TimedKernel> kernels);

/// Fits shape corrections that adapt another model to these kernels: of another library on the same machine, or of the
/// same library on a similar machine. Because libraries choose kernels in similar ways, this may be more accurate than
/// a model fitted to few measurements. A held-out shape is also held out of the measurements of the other model. Empty
/// if fewer than min_kernels measurements are valid, or if some are not matmuls.
[[nodiscard]] std::optional<KernelFit> fit_like(const FoldedFit& relative, std::vector<TimedKernel> kernels);

}  // namespace roofline::core
