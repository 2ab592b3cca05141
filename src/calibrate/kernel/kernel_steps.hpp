// One step of the search for a kernel model: least squares of the linearized model.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "calibrate/kernel/kernel_search.hpp"

namespace roofline::core {

/// A point with its tilings, which do not change during the search for a model: for the point itself, and with its
/// heads as separate matmuls.
class TiledPoint {
public:
    explicit TiledPoint(const KernelPoint& point);

    struct Cut {
        const KernelPoint& point;
        const Tiling& tiling;
        TilingTime time;
    };
    /// Returns the point as the model processes it, with the cheapest tiling. Not thread-safe.
    [[nodiscard]] Cut by(const KernelModel& model) const;

private:
    /// A point with all tilings that models choose from.
    struct TilingChoices {
        KernelPoint point;
        Tiling uncut{};
        Tiling by_rows;
        std::vector<Tiling> tilings;
        std::size_t last = 0;  ///< tiling of the previous model, which is mostly also that of the next one

        explicit TilingChoices(const KernelPoint& of);
        [[nodiscard]] Cut by(const KernelModel& model);
    };
    mutable TilingChoices whole_;
    mutable std::optional<TilingChoices> each_;
};

/// A timed kernel with the tilings of all its points.
struct TiledKernel {
    const TimedKernel* timed;
    std::vector<TiledPoint> points;

    explicit TiledKernel(const TimedKernel& kernel) : timed(&kernel) {
        points.reserve(1 + kernel.more.size());
        points.emplace_back(kernel.point);
        for (const KernelPoint& point : kernel.more) points.emplace_back(point);
    }
};

/// Some of the timed kernels with their tilings.
using TiledKernels = std::span<const TiledKernel>;

/// Computes the tilings of all kernels.
[[nodiscard]] std::vector<TiledKernel> tile_all(const TimedKernels& kernels);

/// A model, its loss, and the model that least squares of its linearization give.
struct SearchStep {
    double loss = 0;
    KernelModel next;
};

/// Makes one step. Weights turn squared into absolute deviations. The next model has the terms and the p of this one.
[[nodiscard]] SearchStep step_from(const KernelModel& model, TiledKernels kernels);

}  // namespace roofline::core
