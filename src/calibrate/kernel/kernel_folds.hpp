// Which timed kernels are held out together when it is told how far off a law is on shapes that it has not seen.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "calibrate/kernel/kernel_search.hpp"

namespace roofline::core {

inline constexpr std::size_t kernel_folds = 5;

/// Of a product n, the depth and the batch, whatever its m; of layers of several products n and the depth; of other
/// kernels what they ask for.
using KernelShape = std::tuple<double, double, double>;

/// The fold of every shape.
using FoldsOfShapes = std::map<KernelShape, std::size_t>;

/// Every fifth shape in turn, where there are two at least; shapes that `known` has stay in its folds.
[[nodiscard]] FoldsOfShapes folds_of(const TimedKernels& kernels, const FoldsOfShapes& known = {});

/// The kernels of each fold. Those of one fold alone are shared out: each fifth row is held out.
[[nodiscard]] std::array<TimedKernels, kernel_folds> in_folds(const TimedKernels& kernels, const FoldsOfShapes& folds);

/// All kernels but those of one fold.
[[nodiscard]] TimedKernels without_fold(const std::array<TimedKernels, kernel_folds>& folds, std::size_t held);

}  // namespace roofline::core
