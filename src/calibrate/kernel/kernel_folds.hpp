// Folds of timed kernels for held-out errors: all measurements of a shape are held out together.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "calibrate/kernel/kernel_search.hpp"

namespace roofline::core {

/// The number of folds: each measurement is predicted once by a fit to the four other folds.
inline constexpr std::size_t kernel_folds = 5;

/// The sizes that distinguish shapes: for a matmul n, depth and batch, for any m; for layers of several matmuls n and
/// depth; for other kernels the lower bound, the matmul time and the depth.
using KernelShape = std::tuple<double, double, double>;

/// The fold of every shape.
using FoldsOfShapes = std::map<KernelShape, std::size_t>;

/// Distributes the shapes over the folds. Shapes in `known` keep their folds.
[[nodiscard]] FoldsOfShapes folds_of(const TimedKernels& kernels, const FoldsOfShapes& known = {});

/// Returns the kernels of each fold. If all of them are in one fold, every fifth measurement is held out instead.
[[nodiscard]] std::array<TimedKernels, kernel_folds> in_folds(const TimedKernels& kernels, const FoldsOfShapes& folds);

/// Returns all kernels except those of one fold.
[[nodiscard]] TimedKernels without_fold(const std::array<TimedKernels, kernel_folds>& folds, std::size_t held);

}  // namespace roofline::core
