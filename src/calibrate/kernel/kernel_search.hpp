// The law of kernels that fits timed kernels best.
#pragma once

#include <optional>
#include <vector>

#include "calibrate/kernel/kernel_law.hpp"

namespace roofline::core {

struct TimedKernel {
    KernelPoint point;
    double time_s = 0;
    double before_s = 0;              ///< the part of time_s that other kernels took, which are known already
    std::vector<KernelPoint> more{};  ///< that ran after the first, in the same time and by the same law
    /// That ran before, by a law of its own that is searched for, too; nothing else is known to have run then. All of
    /// the kernels that a law is searched for have one, or none has.
    std::optional<KernelPoint> first{};
};

using TimedKernels = std::vector<const TimedKernel*>;

/// The laws of timed kernels, and of those that ran first in the same times.
struct KernelLaws {
    KernelLaw law{};
    KernelLaw first{};
};

/// Seconds of a time without its first kernel: what is known, and what a law, or what else has seconds_of(), says of
/// the rest.
template <class Law>
[[nodiscard]] double seconds_behind(const Law& law, const TimedKernel& kernel) {
    double seconds = kernel.before_s + seconds_of(law, kernel.point);
    for (const KernelPoint& point : kernel.more) seconds += seconds_of(law, point);
    return seconds;
}

/// Seconds of the whole time: what is known, and what the laws say of the rest.
[[nodiscard]] double seconds_of(const KernelLaws& laws, const TimedKernel& kernel);

/// The laws with the least sum of relative deviations, not squared. Of their terms they have those that the kernels
/// notice: tiles, heads that do not share keys, rows, writes of their own rate and cached data come in only where they
/// make deviations smaller by a tenth of a per cent.
[[nodiscard]] KernelLaws search_laws(const TimedKernels& kernels);

/// The same from laws that are near: their terms stay, their constants and p move.
[[nodiscard]] KernelLaws search_near(const KernelLaws& laws, const TimedKernels& kernels);

}  // namespace roofline::core
