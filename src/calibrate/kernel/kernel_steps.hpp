// One step of the search for a kernel's law: least squares of the law made linear where it is.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "calibrate/kernel/kernel_search.hpp"

namespace roofline::core {

/// A point with the ways to cut it, which stay while laws are searched for: as it is, and with its heads apart.
class CutPoint {
public:
    explicit CutPoint(const KernelPoint& point);

    struct Cut {
        const KernelPoint& point;
        const Tiling& tiling;
        TilingTime time;
    };
    /// The point as the law works it off, and the cheapest tiling. Not to be asked from two threads at a time.
    [[nodiscard]] Cut by(const KernelLaw& law) const;

private:
    /// A point with all that laws may choose from.
    struct Ways {
        KernelPoint point;
        Tiling uncut{};
        Tiling by_rows;
        std::vector<Tiling> tilings;
        std::size_t last = 0;  ///< the last law's: the next one's are mostly the same

        explicit Ways(const KernelPoint& of);
        [[nodiscard]] Cut by(const KernelLaw& law);
    };
    mutable Ways whole_;
    mutable std::optional<Ways> each_;
};

/// A timed kernel with all of its points cut.
struct CutKernel {
    const TimedKernel* timed;
    std::vector<CutPoint> points;

    explicit CutKernel(const TimedKernel& kernel) : timed(&kernel) {
        points.reserve(1 + kernel.more.size());
        points.emplace_back(kernel.point);
        for (const KernelPoint& point : kernel.more) points.emplace_back(point);
    }
};

using CutKernels = std::span<const CutKernel>;

[[nodiscard]] std::vector<CutKernel> cut_all(const TimedKernels& kernels);

/// A law, what it is off by, and the law that least squares of this one, made linear, lead to.
struct LawStep {
    double loss = 0;
    KernelLaw next;
};

/// Weights make squares of the deviations into absolute values. The next law has the terms and p of this one.
[[nodiscard]] LawStep step_from(const KernelLaw& law, CutKernels kernels);

}  // namespace roofline::core
