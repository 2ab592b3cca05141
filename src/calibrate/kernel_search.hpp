// The law of kernels that fits timed kernels best.
#pragma once

#include <vector>

#include "calibrate/kernel_law.hpp"

namespace roofline {

struct TimedKernel {
    KernelPoint point;
    double time_s = 0;
    double before_s = 0;              ///< the part of time_s that other kernels took, which are known already
    std::vector<KernelPoint> more{};  ///< that ran after the first, in the same time and by the same law
};

using TimedKernels = std::vector<const TimedKernel*>;

/// Seconds of the whole time: what is known, and what the law says of the rest.
[[nodiscard]] double seconds_of(const KernelLaw& law, const TimedKernel& kernel);

/// |predicted - measured| / measured of the whole time.
[[nodiscard]] double error_of(const KernelLaw& law, const TimedKernel& kernel);

/// The law with the least sum of relative deviations, not squared. Of its terms it has those that the kernels notice: tiles, writes
/// of their own rate and cached data come in only where they make deviations smaller by a tenth of a per cent.
[[nodiscard]] KernelLaw search_law(const TimedKernels& kernels);

/// The same from a law that is near: its terms stay, its constants and p move.
[[nodiscard]] KernelLaw search_near(const KernelLaw& law, const TimedKernels& kernels);

}  // namespace roofline
