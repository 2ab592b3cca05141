// Fit of kernel models for all machines to tables of timed kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/calibration.hpp"

namespace roofline::core {

/// A kernel whose time is included in the measured time of another, such as the quantization of a matmul's operands.
struct OtherKernel {
    KernelKey key;
    KernelPoint point;
    double count = 1;

    bool operator==(const OtherKernel&) const = default;
};

/// A timed kernel with the input of its model.
struct KernelSample {
    std::string machine;  ///< id of the catalogue or of a file
    KernelKey key;
    TimedKernel timed;
    std::string source;
    std::vector<OtherKernel> others{};  ///< kernels in the same measured time
};

/// The fitted kernel models, and how the measurements were used.
struct KernelModelsFit {
    std::vector<Calibration> calibrations;  ///< by machine, without collective models
    std::int64_t rows = 0;                  ///< number of measurements that models were fitted to
    std::int64_t duplicates = 0;            ///< measurements that were given twice
    std::int64_t left_out = 0;              ///< measurements that must be wrong (KernelFit)
    std::int64_t too_few = 0;               ///< measurements with fewer than min_kernels for their key
};

/// Returns the time of the other kernels in a sample by the models of a machine, or by their lower bounds if it has
/// none.
[[nodiscard]] double seconds_of_others(const KernelSample& sample, const Calibration* known);

/// Fits a model per machine and key with fit_kernels(). The other kernels in a measured time take the time of the
/// models of kernels that were timed alone, or else their lower bound. If a single quantization precedes a matmul and
/// its library has no model of it, this model is fitted to the same measurements. For matmuls with few measurements,
/// the model of another library or machine with additional shape corrections (fit_like()) is used if its held-out error
/// is smaller. The order of the samples does not matter.
[[nodiscard]] KernelModelsFit fit_kernel_models(std::vector<KernelSample> samples);

}  // namespace roofline::core
