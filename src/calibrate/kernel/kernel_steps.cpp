#include "calibrate/kernel/kernel_steps.hpp"

#include <algorithm>
#include <cmath>

#include "calibrate/fit/least_squares.hpp"

namespace roofline::core {

namespace {

using KernelLeastSquares = LeastSquaresOf<kernel_constant_count>;
using KernelConstants = KernelLeastSquares::Constants;

/// Returns the model with these parameters, and the terms and p of another. Resources are not faster than published, so
/// that an expected time is never below the bound; only caches may be. A cache is no slower than the main memory behind
/// it: otherwise a machine with a larger cache would be expected to be slower.
KernelModel model_of(const KernelConstants& constants, KernelModel model) {
    for (const KernelConstant& each : kernel_constants) {
        if (each.slope == not_in_least_squares || !each.used(model)) continue;
        double& value = each.of(model);
        const double found = constants[each.slope];
        if (each.slope < first_slowdown) {
            value = found;
        } else if (each.kind == ConstantKind::multiple) {
            // a rate that is off by default stays off: these results do not leave the cores
            if (value > 0) value = 1 / std::clamp(found, 1 / each.most, 1 / each.least);
        } else if (value > 0) {  // without a separate fraction for writes it stays unset
            value = found > 1 ? 1 / found : 1;
        }
    }
    if (model.warm > 0) model.cache = std::max(model.cache, model.memory);
    return model;
}

/// Removes tilings that no model selects: another one has as many splits, at most as many waves and matmul time, and at
/// least as many tiles.
std::vector<Tiling> kept(const KernelPoint& point) {
    const Tilings tilings = tilings_of(point);
    const std::span<const Tiling> all = tilings;
    std::vector<Tiling> kept;
    for (const Tiling& tiling : all) {
        const bool worse = std::any_of(all.begin(), all.end(), [&](const Tiling& other) {
            const bool no_better = other.splits == tiling.splits && other.waves <= tiling.waves &&
                                   other.tiles >= tiling.tiles && math_of(point, other) <= math_of(point, tiling);
            return no_better && (&other < &tiling || other.waves < tiling.waves);
        });
        if (!worse) kept.push_back(tiling);
    }
    return kept;
}

/// The model at these parameters as a linear function. A p-norm equals the sum of its parts times (part / norm)^(p -
/// 1), which are also its partial derivatives (Euler's theorem on homogeneous functions).
struct Linear {
    KernelConstants features{};
    double rest = 0;     ///< independent of the parameters
    double seconds = 0;  ///< of the model itself
};

void add_linear(Linear& linear, const KernelModel& model, const TiledPoint& whole) {
    const auto [point, tiling, time] = whole.by(model);
    const auto slopes = slopes_of(time.norm, time.parts);
    KernelConstants& features = linear.features;
    features[fixed_slope] += 1;
    features[ramp_slope] += point.depth * tiling.part;
    features[math_slope] += math_of(model, point, tiling) * slopes[0];
    features[vector_slope] += point.vector_s * slopes[1];
    const double memory = slopes[2];
    const double drawn = memory * stretch_of(model, point, tiling);
    const double cached = cached_share(model, point);
    features[model.write > 0 ? write_slope : read_slope] += (1 - cached) * point.write_s * drawn;
    features[read_slope] += (1 - cached) * (point.memory_s - point.write_s) * drawn;
    features[cache_slope] += cached * point.memory_s * drawn;
    if (tiling.splits > 1) {
        features[split_slope] += 1;
        features[partial_slope] += tiling.splits * point.partial_sums_s * memory;
    }
    if (model.hidden) {
        features[wave_slope] += tiling.waves * slopes[3];
    } else if (tiling.waves > 1) {
        features[wave_slope] += tiling.waves - 1;
    }
    if (model.row_s > 0) features[row_slope] += rows_of_core(point);
    features[reread_slope] += point.reread_s * memory;
    if (model.inner > 0) features[inner_slope] += point.inner_s * memory;
    linear.rest += point.other_s * slopes[3];
    linear.seconds += time.seconds();
}

/// The linearized sum over all kernels in a time.
Linear linear_at(const KernelModel& model, const TiledKernel& kernel) {
    Linear sum;
    for (const TiledPoint& point : kernel.points) add_linear(sum, model, point);
    return sum;
}

}  // namespace

TiledPoint::TilingChoices::TilingChoices(const KernelPoint& of)
    : point(of), by_rows(tiling_by_rows(of)), tilings(kept(of)) {}

TiledPoint::Cut TiledPoint::TilingChoices::by(const KernelModel& model) {
    if (!model.tiled || tilings.empty()) return {point, uncut, cheapest(model, point, {&uncut, 1})};
    if (model.by_rows) return {point, by_rows, cheapest(model, point, {&by_rows, 1})};
    const TilingTime time = cheapest(model, point, tilings, last);
    last = time.index;
    return {point, tilings[last], time};
}

TiledPoint::TiledPoint(const KernelPoint& point) : whole_(point) {
    if (point.heads > 1) each_.emplace(separate_heads(point));
}

TiledPoint::Cut TiledPoint::by(const KernelModel& model) const {
    return needs_separate_heads(model, whole_.point) ? each_->by(model) : whole_.by(model);
}

std::vector<TiledKernel> tile_all(const TimedKernels& kernels) {
    std::vector<TiledKernel> all;
    all.reserve(kernels.size());
    for (const TimedKernel* kernel : kernels) all.emplace_back(*kernel);
    return all;
}

namespace {

/// Longer measurements do not show the start-up of a kernel, because a typical one is within their noise; except those
/// of kernels with almost no work, whose time is all start-up, for example where a slow host launches them. A kernel
/// without a matmul has no pipeline of tiles to fill: its start-up is a launch, less than a tenth of a time of 40 us.
constexpr double shows_start_s = 100e-6;
constexpr double next_to_no_work_s = 20e-6;
constexpr double shows_launch_s = 40e-6;
constexpr double next_to_no_work = 0.1;  // of a measured time
/// Start-ups of kernels without such short measurements: the medians of all others. Least squares would let them absorb
/// anything that these measurements have in common, and predict as much for kernels that are a hundred times shorter.
constexpr double typical_start_s = 3e-6;
constexpr double typical_ramp_s = 1e-9;

bool has_matmul(const TiledKernel& kernel) { return kernel.timed->point.depth > 0; }

/// Whether a measurement is short enough to show the start-up.
bool shows_start(const TiledKernel& kernel) {
    const double time_s = kernel.timed->time_s;
    const double work_s = bound_of(kernel.timed->point);
    if (has_matmul(kernel)) return time_s < shows_start_s || work_s < next_to_no_work_s;
    return time_s < shows_launch_s || work_s < std::min(next_to_no_work_s, next_to_no_work * time_s);
}

/// Holds start-up parameters near typical ones, unless a measurement is short enough to show them.
void hold_starts(KernelLeastSquares& sums, TiledKernels kernels) {
    if (std::any_of(kernels.begin(), kernels.end(), shows_start)) return;
    constexpr double strength = 0.01;  // relative to all measurements: two to three times as long remains possible
    const auto hold = [&](LeastSquaresIndex constant, double seconds) {
        KernelConstants typical{};
        typical[constant] = 1 / seconds;
        sums.add(typical, strength * static_cast<double>(kernels.size()));
    };
    hold(fixed_slope, typical_start_s);
    if (!std::any_of(kernels.begin(), kernels.end(), has_matmul)) return;
    hold(split_slope, typical_start_s);
    hold(ramp_slope, typical_ramp_s);
}

}  // namespace

SearchStep step_from(const KernelModel& model, TiledKernels kernels) {
    constexpr double floor = 0.02;  // smaller deviations are noise and are weighted equally
    SearchStep step;
    KernelLeastSquares sums;
    double off = 1;  // product of the ratios, because a single logarithm of the product is cheaper
    const auto add_loss = [&] {
        step.loss += std::log(off);
        off = 1;
    };
    for (const TiledKernel& kernel : kernels) {
        const TimedKernel& timed = *kernel.timed;
        Linear linear = linear_at(model, kernel);
        const double ratio = (timed.known_s + linear.seconds) / timed.time_s;
        off *= ratio > 1 ? ratio : 1 / ratio;
        if (off > 1e100) add_loss();
        const double left = timed.time_s - timed.known_s - linear.rest;
        if (std::abs(left) < 1e-6 * timed.time_s) continue;
        const double scale = 1 / left;
        for (double& feature : linear.features) feature *= scale;
        const double share = left / timed.time_s;
        sums.add(linear.features, share * share * floor / std::max(std::abs(ratio - 1), floor));
    }
    add_loss();
    // parameters on which the points do not depend keep the published rates
    const double hint = 1e-4 * static_cast<double>(kernels.size());
    for (std::size_t i = first_slowdown; i < kernel_constant_count; ++i) {
        KernelConstants published{};
        published[i] = 1;
        sums.add(published, hint);
    }
    hold_starts(sums, kernels);
    step.next = model_of(sums.solve(), model);
    return step;
}

}  // namespace roofline::core
