// Laws of kernels for machines, fitted to tables of timed kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/calibration.hpp"

namespace roofline::core {

/// A kernel whose time is in that of another: what quantises the operands of a product.
struct OtherKernel {
    KernelKey key;
    KernelPoint point;
    double count = 1;

    bool operator==(const OtherKernel&) const = default;
};

/// A timed kernel, priced.
struct KernelSample {
    std::string machine;  ///< of the catalogue, or a file's id
    KernelKey key;
    TimedKernel timed;
    std::string source;
    std::vector<OtherKernel> others{};  ///< in the same time
};

struct KernelLawsFit {
    std::vector<Calibration> calibrations;  ///< by machine, without laws of collectives
    std::int64_t rows = 0;                  ///< that laws were fitted to
    std::int64_t duplicates = 0;            ///< the same measurement, given twice
    std::int64_t left_out = 0;              ///< that cannot be right (KernelFit)
    std::int64_t too_few = 0;               ///< of keys with fewer than fewest_kernels
};

/// What the other kernels in a sample's time take, by a machine's laws; by their lower bounds where it has none.
[[nodiscard]] double seconds_before(const KernelSample& sample, const Calibration* known);

/// A law for each machine and key, as fit_kernels() fits it. Other kernels in the same time take what the laws of
/// kernels that were timed alone say; what has none counts with its lower bound. A quantisation before a product, and
/// nothing else, whose library has no law of it gets one from the same rows. A law of few rows of products is that of a
/// relative with other factors (fit_like()) where that makes the error of held out rows smaller. The order of the
/// samples does not matter.
[[nodiscard]] KernelLawsFit fit_kernel_laws(std::vector<KernelSample> samples);

}  // namespace roofline::core
