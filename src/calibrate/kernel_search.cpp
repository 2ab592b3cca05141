#include "calibrate/kernel_search.hpp"

#include <algorithm>
#include <cmath>

#include "calibrate/least_squares.hpp"

namespace roofline {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Of the constants, as least squares has them: seconds, and slowdowns, which are one over the law's fractions.
enum KernelConstant : std::size_t { fixed, ramp, split, wave, math, vector, read, write, cache, partial };

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
    if (law.warm > 0) law.cache = multiple(constants[cache], 16);
    if (!law.tiled) return law;
    law.split_s = constants[split];
    law.wave_s = constants[wave];
    law.partial = multiple(constants[partial], 64);
    return law;
}

/// The law at these constants as a sum: a p-norm is the sum of its parts, each times (part / norm)^(p - 1), and changes with
/// each constant by just that (Euler: it is homogeneous).
struct Linear {
    KernelConstants features{};
    double rest = 0;     ///< what no constant multiplies
    double seconds = 0;  ///< of the law as it is
};

Linear linear_at(const KernelLaw& law, const KernelPoint& point) {
    const Tiling tiling = tiling_of(law, point);
    const auto parts = parts_of(law, point, tiling);
    const double norm = norm_of(parts, law.p);
    const auto share = [&](double part) {
        if (!(part > 0)) return 0.0;
        if (std::isinf(law.p)) return part == norm ? 1.0 : 0.0;
        return std::pow(part / norm, law.p - 1);
    };
    Linear linear;
    KernelConstants& features = linear.features;
    features[fixed] = 1;
    features[ramp] = point.depth / tiling.splits;
    features[math] = math_of(point, tiling) * share(parts[0]);
    features[vector] = point.vector_s * share(parts[1]);
    const double memory = share(parts[2]);
    const double drawn = memory * stretch_of(law, point, tiling);
    const double cached = cached_share(law, point);
    features[law.write > 0 ? write : read] = (1 - cached) * point.write_s * drawn;
    features[read] += (1 - cached) * (point.memory_s - point.write_s) * drawn;
    features[cache] = cached * point.memory_s * drawn;
    if (tiling.splits > 1) {
        features[split] = 1;
        features[partial] = tiling.splits * point.sums_s * memory;
    }
    if (tiling.waves > 1) features[wave] = tiling.waves - 1;
    linear.rest = point.other_s * share(parts[3]);
    linear.seconds = seconds_of(law, point, tiling);
    return linear;
}

/// The law of all kernels in a time together.
Linear linear_at(const KernelLaw& law, const TimedKernel& kernel) {
    Linear sum = linear_at(law, kernel.point);
    for (const KernelPoint& point : kernel.more) {
        const Linear next = linear_at(law, point);
        for (std::size_t i = 0; i < kernel_constant_count; ++i) sum.features[i] += next.features[i];
        sum.rest += next.rest;
        sum.seconds += next.seconds;
    }
    return sum;
}

double loss_of(const KernelLaw& law, const TimedKernels& kernels) {
    double loss = 0;
    for (const TimedKernel* kernel : kernels) loss += std::abs(std::log(seconds_of(law, *kernel) / kernel->time_s));
    return loss;
}

/// One step: least squares of the law made linear. Weights make squares of the last deviations into absolute values.
KernelLaw improved(const KernelLaw& law, const TimedKernels& kernels) {
    constexpr double floor = 0.02;  // below it deviations are noise and count alike
    KernelLeastSquares sums;
    for (const TimedKernel* kernel : kernels) {
        Linear linear = linear_at(law, *kernel);
        const double left = kernel->time_s - kernel->before_s - linear.rest;
        if (std::abs(left) < 1e-6 * kernel->time_s) continue;
        for (double& feature : linear.features) feature /= left;
        const double off = std::abs((kernel->before_s + linear.seconds) / kernel->time_s - 1);
        const double share = left / kernel->time_s;
        sums.add(linear.features, share * share * floor / std::max(off, floor));
    }
    // what the points do not tell stays as published
    const double hint = 1e-4 * static_cast<double>(kernels.size());
    for (std::size_t i = math; i < kernel_constant_count; ++i) {
        KernelConstants published{};
        published[i] = 1;
        sums.add(published, hint);
    }
    return law_of(sums.solve(), law);
}

struct LawSearch {
    KernelLaw law;
    double loss = infinity;
};

/// The best law with the terms and p of the start.
LawSearch settled(KernelLaw start, const TimedKernels& kernels) {
    constexpr int most_steps = 12;
    LawSearch best{start, loss_of(start, kernels)};
    double previous = infinity;
    for (int step = 0; step < most_steps; ++step) {
        start = improved(start, kernels);
        const double loss = loss_of(start, kernels);
        if (loss < best.loss) best = {start, loss};
        if (step > 3 && loss > previous * 0.9999) break;
        previous = std::min(previous, loss);
    }
    return best;
}

double inverse_of(const KernelLaw& law) { return std::isinf(law.p) ? 0 : 1 / law.p; }

/// p is searched for by 1/p: 0 is the maximum, 1 the sum.
LawSearch settled_at(double inverse, KernelLaw start, const TimedKernels& kernels) {
    start.p = inverse > 0 ? 1 / inverse : infinity;
    return settled(start, kernels);
}

/// A hundredth of a per cent a row.
double noticed(const TimedKernels& kernels) { return 1e-4 * static_cast<double>(kernels.size()); }

void refine_p(LawSearch& best, const TimedKernels& kernels, double first_step) {
    for (double step = first_step; step > 0.02; step /= 2) {
        const double middle = inverse_of(best.law);
        for (const double inverse : {middle - step, middle + step}) {
            if (inverse < 0 || inverse > 1) continue;
            LawSearch next = settled_at(inverse, best.law, kernels);
            if (next.loss < best.loss - noticed(kernels)) best = next;
        }
    }
}

LawSearch search_from(const KernelLaw& start, const TimedKernels& kernels) {
    LawSearch best;
    for (int tenth = 0; tenth <= 10; tenth += 2) {
        const LawSearch next = settled_at(tenth / 10.0, start, kernels);
        if (next.loss < best.loss - noticed(kernels)) best = next;
    }
    refine_p(best, kernels, 0.1);
    return best;
}

/// A term stays out unless it is worth a tenth of a per cent a row.
void take_if_worth(LawSearch& best, LawSearch next, const TimedKernels& kernels) {
    if (next.loss < best.loss - 10 * noticed(kernels)) best = next;
}

}  // namespace

double seconds_of(const KernelLaw& law, const TimedKernel& kernel) {
    double seconds = kernel.before_s + seconds_of(law, kernel.point);
    for (const KernelPoint& point : kernel.more) seconds += seconds_of(law, point);
    return seconds;
}

double error_of(const KernelLaw& law, const TimedKernel& kernel) {
    return std::abs(seconds_of(law, kernel) - kernel.time_s) / kernel.time_s;
}

KernelLaw search_law(const TimedKernels& kernels) {
    KernelLaw start{1e-6, 0, 0.8, 0.8, 0.8, 2};
    LawSearch best = search_from(start, kernels);
    if (std::any_of(kernels.begin(), kernels.end(), [](const auto* each) { return each->point.m > 0; })) {
        start.tiled = true;
        start.ramp_s = 0.3e-9;
        start.split_s = 2e-6;
        start.wave_s = 0.3e-6;
        start.partial = 4;
        take_if_worth(best, search_from(start, kernels), kernels);
        start.busy = 0.5;
        LawSearch busiest = search_from(start, kernels);
        for (const double share : {0.1, 0.2, 0.35, 0.75, 1.0}) {
            KernelLaw busy = busiest.law;
            busy.busy = share;
            const LawSearch next = settled(busy, kernels);
            if (next.loss < busiest.loss) busiest = next;
        }
        take_if_worth(best, busiest, kernels);
    }
    KernelLaw writes = best.law;
    writes.write = writes.memory;
    LawSearch apart = settled(writes, kernels);
    refine_p(apart, kernels, 0.05);
    take_if_worth(best, apart, kernels);
    LawSearch warmest = best;
    for (const double share : {0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8}) {
        KernelLaw warm = best.law;
        warm.warm = share;
        warm.cache = 1.5;
        const LawSearch next = settled(warm, kernels);
        if (next.loss < warmest.loss) warmest = next;
    }
    refine_p(warmest, kernels, 0.05);
    take_if_worth(best, warmest, kernels);
    for (int again = 0; again < 4; ++again)
        best = settled(best.law, kernels);  // terms that came in last have moved least
    return best.law;
}

KernelLaw search_near(const KernelLaw& law, const TimedKernels& kernels) {
    LawSearch best = settled(law, kernels);
    refine_p(best, kernels, 0.025);
    return best.law;
}

}  // namespace roofline
