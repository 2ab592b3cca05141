// Search for the model that fits timed kernels best.
#pragma once

#include <optional>
#include <vector>

#include "calibrate/kernel/kernel_model.hpp"

namespace roofline::core {

/// A measured time and the kernels that ran in it.
struct TimedKernel {
    KernelPoint point;
    double time_s = 0;
    double known_s = 0;               ///< part of time_s that belongs to other kernels with known models
    std::vector<KernelPoint> more{};  ///< kernels that run after the first in the same time and have the same model
    /// A kernel that runs before the others and whose own model is also fitted; nothing else may precede it with an
    /// unknown time. Either all kernels of a fit have one, or none has.
    std::optional<KernelPoint> first{};
};

/// Some of the timed kernels, which live elsewhere.
using TimedKernels = std::vector<const TimedKernel*>;

/// The models of timed kernels, and of kernels that precede them in the same times.
struct KernelModels {
    KernelModel model{};
    KernelModel first{};
};

/// Returns the seconds of a time without its first kernel: the known part, and the prediction of a model, or of another
/// type with seconds_of(), for the rest.
template <class Parameters>
[[nodiscard]] double seconds_without_first(const Parameters& model, const TimedKernel& kernel) {
    double seconds = kernel.known_s + seconds_of(model, kernel.point);
    for (const KernelPoint& point : kernel.more) seconds += seconds_of(model, point);
    return seconds;
}

/// Returns the seconds of the whole time: the known part and the predictions of the models.
[[nodiscard]] double seconds_of(const KernelModels& models, const TimedKernel& kernel);

/// Returns the models with the smallest sum of absolute relative deviations. Optional terms are only included if they
/// reduce the mean deviation by 0.1 percentage points (tiles, the memory rate of one core, rows, a separate write rate,
/// and cached data), or by 0.5 if they change how kernels work (heads that do not share keys, overlapping waves, tiles
/// by rows).
[[nodiscard]] KernelModels search_models(const TimedKernels& kernels);

/// As search_models(), starting from models that are close to the solution: their terms stay, parameters and p are
/// refined.
[[nodiscard]] KernelModels search_near(const KernelModels& models, const TimedKernels& kernels);

}  // namespace roofline::core
