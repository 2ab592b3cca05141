#include "calibrate/kernel/kernel_steps.hpp"

#include <algorithm>
#include <cmath>

#include "calibrate/fit/least_squares.hpp"

namespace roofline::core {

namespace {

/// Of the constants, as least squares has them: seconds, and slowdowns, which are one over the law's fractions.
enum KernelConstant : std::size_t { fixed, ramp, split, wave, row, math, vector, read, write, cache, partial, reread };

/// The law at these constants, with the terms and p of another.
/// No resource runs faster than published, so an expected time is never below the bound; caches do.
KernelLaw law_of(const KernelConstants& constants, KernelLaw law) {
    const auto fraction = [](double slowdown) { return slowdown > 1 ? 1 / slowdown : 1; };
    const auto multiple = [](double slowdown, double most) { return 1 / std::clamp(slowdown, 1 / most, 4.0); };
    law.fixed_s = constants[fixed];
    law.ramp_s = constants[ramp];
    law.math = fraction(constants[math]);
    law.vector = fraction(constants[vector]);
    law.memory = fraction(constants[read]);
    if (law.write > 0) law.write = fraction(constants[write]);
    if (law.warm > 0) law.cache = multiple(constants[cache], fastest_cache);
    if (law.row_s > 0) law.row_s = constants[row];
    if (law.share > 0) law.reread = multiple(constants[reread], 64);
    if (!law.tiled) return law;
    law.split_s = constants[split];
    law.wave_s = constants[wave];
    law.partial = multiple(constants[partial], 64);
    return law;
}

/// No law takes one that has as many splits as another before it, more waves or math, and fewer tiles.
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

/// The law at these constants as a sum: a p-norm is the sum of its parts, each times (part / norm)^(p - 1), and changes with
/// each constant by just that (Euler: it is homogeneous).
struct Linear {
    KernelConstants features{};
    double rest = 0;     ///< what no constant multiplies
    double seconds = 0;  ///< of the law as it is
};

void add_linear(Linear& linear, const KernelLaw& law, const CutPoint& whole) {
    const auto [point, tiling, time] = whole.by(law);
    const auto slopes = slopes_of(time.norm, time.parts);
    KernelConstants& features = linear.features;
    features[fixed] += 1;
    features[ramp] += point.depth * tiling.part;
    features[math] += math_of(point, tiling) * slopes[0];
    features[vector] += point.vector_s * slopes[1];
    const double memory = slopes[2];
    const double drawn = memory * stretch_of(law, point, tiling);
    const double cached = cached_share(law, point);
    features[law.write > 0 ? write : read] += (1 - cached) * point.write_s * drawn;
    features[read] += (1 - cached) * (point.memory_s - point.write_s) * drawn;
    features[cache] += cached * point.memory_s * drawn;
    if (tiling.splits > 1) {
        features[split] += 1;
        features[partial] += tiling.splits * point.sums_s * memory;
    }
    if (law.hidden) {
        features[wave] += tiling.waves * slopes[3];
    } else if (tiling.waves > 1) {
        features[wave] += tiling.waves - 1;
    }
    if (law.row_s > 0) features[row] += rows_of_core(point);
    features[reread] += point.again_s * memory;
    linear.rest += point.other_s * slopes[3];
    linear.seconds += time.seconds();
}

/// The law of all kernels in a time together.
Linear linear_at(const KernelLaw& law, const CutKernel& kernel) {
    Linear sum;
    for (const CutPoint& point : kernel.points) add_linear(sum, law, point);
    return sum;
}

}  // namespace

CutPoint::Ways::Ways(const KernelPoint& of) : point(of), by_rows(tiling_by_rows(of)), tilings(kept(of)) {}

CutPoint::Cut CutPoint::Ways::by(const KernelLaw& law) {
    if (!law.tiled || tilings.empty()) return {point, uncut, cheapest(law, point, {&uncut, 1})};
    if (law.by_rows) return {point, by_rows, cheapest(law, point, {&by_rows, 1})};
    const TilingTime time = cheapest(law, point, tilings, last);
    last = time.index;
    return {point, tilings[last], time};
}

CutPoint::CutPoint(const KernelPoint& point) : whole_(point) {
    if (point.heads > 1) each_.emplace(apart(point));
}

CutPoint::Cut CutPoint::by(const KernelLaw& law) const {
    return heads_apart(law, whole_.point) ? each_->by(law) : whole_.by(law);
}

std::vector<CutKernel> cut_all(const TimedKernels& kernels) {
    std::vector<CutKernel> all;
    all.reserve(kernels.size());
    for (const TimedKernel* kernel : kernels) all.emplace_back(*kernel);
    return all;
}

LawStep step_from(const KernelLaw& law, CutKernels kernels) {
    constexpr double floor = 0.02;  // below it deviations are noise and count alike
    LawStep step;
    KernelLeastSquares sums;
    double off = 1;  // so many times: a product, since one logarithm of many tells their sum
    const auto add_loss = [&] {
        step.loss += std::log(off);
        off = 1;
    };
    for (const CutKernel& kernel : kernels) {
        const TimedKernel& timed = *kernel.timed;
        Linear linear = linear_at(law, kernel);
        const double ratio = (timed.before_s + linear.seconds) / timed.time_s;
        off *= ratio > 1 ? ratio : 1 / ratio;
        if (off > 1e100) add_loss();
        const double left = timed.time_s - timed.before_s - linear.rest;
        if (std::abs(left) < 1e-6 * timed.time_s) continue;
        const double scale = 1 / left;
        for (double& feature : linear.features) feature *= scale;
        const double share = left / timed.time_s;
        sums.add(linear.features, share * share * floor / std::max(std::abs(ratio - 1), floor));
    }
    add_loss();
    // what the points do not tell stays as published
    const double hint = 1e-4 * static_cast<double>(kernels.size());
    for (std::size_t i = math; i < kernel_constant_count; ++i) {
        KernelConstants published{};
        published[i] = 1;
        sums.add(published, hint);
    }
    step.next = law_of(sums.solve(), law);
    return step;
}

}  // namespace roofline::core
