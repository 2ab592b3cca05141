#include "calibrate/kernel_search.hpp"

#include <algorithm>
#include <cmath>

#include "calibrate/constants.hpp"
#include "calibrate/least_squares.hpp"

namespace roofline {

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
    if (law.warm > 0) law.cache = multiple(constants[cache], 16);
    if (law.row_s > 0) law.row_s = constants[row];
    if (law.share > 0) law.reread = multiple(constants[reread], 64);
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

Linear linear_at(const KernelLaw& law, const KernelPoint& shared) {
    const KernelPoint point = apart(law, shared);
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
    if (law.row_s > 0) features[row] = rows_of_core(point);
    features[reread] = point.again_s * memory;
    linear.rest = point.other_s * share(parts[3]);
    linear.seconds = overhead_of(law, point, tiling) + norm;
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

/// Seconds of the whole time without the first kernel's, which is in what is known.
double seconds_by(const KernelLaw& law, const TimedKernel& kernel) {
    double seconds = kernel.before_s + seconds_of(law, kernel.point);
    for (const KernelPoint& point : kernel.more) seconds += seconds_of(law, point);
    return seconds;
}

double loss_of(const KernelLaw& law, const TimedKernels& kernels) {
    double loss = 0;
    for (const TimedKernel* kernel : kernels) loss += std::abs(std::log(seconds_by(law, *kernel) / kernel->time_s));
    return loss;
}

/// A law, what it is off by, and the law that least squares of this one, made linear, lead to.
struct LawStep {
    double loss = 0;
    KernelLaw next;
};

/// Weights make squares of the deviations into absolute values.
LawStep step_from(const KernelLaw& law, const TimedKernels& kernels) {
    constexpr double floor = 0.02;  // below it deviations are noise and count alike
    LawStep step;
    KernelLeastSquares sums;
    for (const TimedKernel* kernel : kernels) {
        Linear linear = linear_at(law, *kernel);
        const double ratio = (kernel->before_s + linear.seconds) / kernel->time_s;
        step.loss += std::abs(std::log(ratio));
        const double left = kernel->time_s - kernel->before_s - linear.rest;
        if (std::abs(left) < 1e-6 * kernel->time_s) continue;
        for (double& feature : linear.features) feature /= left;
        const double share = left / kernel->time_s;
        sums.add(linear.features, share * share * floor / std::max(std::abs(ratio - 1), floor));
    }
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

struct LawSearch {
    KernelLaw law;
    double loss = infinity;
};

/// The best law with the terms and p of the start.
LawSearch settled(KernelLaw law, const TimedKernels& kernels, int most_steps = 12) {
    LawSearch best;
    double previous = infinity;
    for (int i = 0; i <= most_steps; ++i) {
        const LawStep step = step_from(law, kernels);
        if (step.loss < best.loss) best = {law, step.loss};
        if (i > 4 && step.loss > previous * 0.9999) break;
        previous = std::min(previous, step.loss);
        law = step.next;
    }
    return best;
}

double inverse_of(const KernelLaw& law) { return std::isinf(law.p) ? 0 : 1 / law.p; }

/// p is searched for by 1/p: 0 is the maximum, 1 the sum.
LawSearch settled_at(double inverse, KernelLaw start, const TimedKernels& kernels, int most_steps = 12) {
    start.p = inverse > 0 ? 1 / inverse : infinity;
    return settled(start, kernels, most_steps);
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
    constexpr int few_steps = 5;  // show which p is best
    LawSearch best;
    for (int tenth = 0; tenth <= 10; tenth += 2) {
        const LawSearch next = settled_at(tenth / 10.0, start, kernels, few_steps);
        if (next.loss < best.loss - noticed(kernels)) best = next;
    }
    best = settled(best.law, kernels);
    refine_p(best, kernels, 0.1);
    return best;
}

/// A term stays out unless it is worth so many per mille a row.
void take_if_worth(LawSearch& best, LawSearch next, const TimedKernels& kernels, double per_mille = 1) {
    if (next.loss < best.loss - 10 * per_mille * noticed(kernels)) best = next;
}

constexpr double half_per_cent = 5;  // what changes the way of working must be worth

bool any_of(const TimedKernels& kernels, double KernelPoint::* part, double above) {
    return std::any_of(kernels.begin(), kernels.end(), [&](const auto* each) { return each->point.*part > above; });
}

/// The best of some values of a constant that is no slope; the law where none is better.
LawSearch best_value(const LawSearch& from, double KernelLaw::* constant, std::initializer_list<double> values,
                     const TimedKernels& kernels) {
    LawSearch best = from;
    for (const double value : values) {
        KernelLaw law = from.law;
        law.*constant = value;
        const LawSearch next = settled(law, kernels);
        if (next.loss < best.loss) best = next;
    }
    return best;
}

/// Tiles, how many heads share keys, and whether few tiles draw all of the memory's rate. Each starts afresh: what a law without it
/// has found for the others is no good start.
void search_tiles(LawSearch& best, KernelLaw start, const TimedKernels& kernels) {
    start.tiled = true;
    start.ramp_s = 0.3e-9;
    start.split_s = 2e-6;
    start.wave_s = 0.3e-6;
    start.partial = 4;
    LawSearch tiled = search_from(start, kernels);
    take_if_worth(best, tiled, kernels);
    if (any_of(kernels, &KernelPoint::heads, 1)) {
        tiled.law.reread = 4;
        const LawSearch shared = best_value(tiled, &KernelLaw::share, {1, 2, 4, 8, 16, 32, 64}, kernels);
        start.share = shared.law.share;
        start.reread = 4;
        if (start.share > 0) take_if_worth(best, search_from(start, kernels), kernels, half_per_cent);
        start.share = best.law.share;
    }
    start.busy = 0.5;
    take_if_worth(best, best_value(search_from(start, kernels), &KernelLaw::busy, {0.1, 0.2, 0.35, 0.75, 1.0}, kernels),
                  kernels);
    KernelLaw rows = start;
    rows.by_rows = true;
    rows.busy = best.law.busy;
    if (rows.share == 0) take_if_worth(best, search_from(rows, kernels), kernels, half_per_cent);
}

KernelLaw search_law(const TimedKernels& kernels) {
    const KernelLaw start{1e-6, 0, 0.8, 0.8, 0.8, 2};
    LawSearch best = search_from(start, kernels);
    if (any_of(kernels, &KernelPoint::m, 0)) search_tiles(best, start, kernels);
    if (any_of(kernels, &KernelPoint::rows, 1)) {
        LawSearch rows = best_value(best, &KernelLaw::row_s, {0.1e-6}, kernels);
        refine_p(rows, kernels, 0.05);
        take_if_worth(best, rows, kernels);
    }
    LawSearch apart = best_value(best, &KernelLaw::write, {best.law.memory}, kernels);
    refine_p(apart, kernels, 0.05);
    take_if_worth(best, apart, kernels);
    LawSearch warm = best;
    warm.law.cache = 1.5;
    warm = best_value(warm, &KernelLaw::warm, {0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8}, kernels);
    refine_p(warm, kernels, 0.05);
    take_if_worth(best, warm, kernels);
    for (int again = 0; again < 4; ++again)
        best = settled(best.law, kernels);  // terms that came in last have moved least
    return best.law;
}

KernelLaw near(const KernelLaw& law, const TimedKernels& kernels) {
    LawSearch best = settled(law, kernels);
    refine_p(best, kernels, 0.025);
    return best.law;
}

/// Two kernels of each time, in turn: each with what the other's law leaves of it.
class Turns {
public:
    explicit Turns(const TimedKernels& kernels) {
        for (const TimedKernel* kernel : kernels) {
            firsts_.push_back({*kernel->first, kernel->time_s});
            lasts_.push_back(*kernel);
        }
    }

    TimedKernels lasts(const KernelLaw& first) {
        for (std::size_t i = 0; i < lasts_.size(); ++i) lasts_[i].before_s = seconds_of(first, firsts_[i].point);
        return all(lasts_);
    }

    TimedKernels firsts(const KernelLaw& last) {
        for (std::size_t i = 0; i < firsts_.size(); ++i) {
            lasts_[i].before_s = 0;
            firsts_[i].before_s = seconds_by(last, lasts_[i]);
        }
        return all(firsts_);
    }

private:
    static TimedKernels all(const std::vector<TimedKernel>& kernels) {
        TimedKernels all;
        for (const TimedKernel& kernel : kernels) all.push_back(&kernel);
        return all;
    }

    std::vector<TimedKernel> firsts_;
    std::vector<TimedKernel> lasts_;
};

KernelLaws in_turns(KernelLaws laws, Turns& turns) {
    constexpr int most_turns = 8;
    double previous = infinity;
    for (int turn = 0; turn < most_turns; ++turn) {
        laws.first = near(laws.first, turns.firsts(laws.law));
        const TimedKernels lasts = turns.lasts(laws.first);
        laws.law = near(laws.law, lasts);
        const double loss = loss_of(laws.law, lasts);
        if (loss > previous - noticed(lasts)) break;
        previous = loss;
    }
    return laws;
}

bool has_first(const TimedKernels& kernels) { return !kernels.empty() && kernels.front()->first; }

}  // namespace

double seconds_of(const KernelLaws& laws, const TimedKernel& kernel) {
    return seconds_by(laws.law, kernel) + (kernel.first ? seconds_of(laws.first, *kernel.first) : 0);
}

double error_of(const KernelLaws& laws, const TimedKernel& kernel) {
    return std::abs(seconds_of(laws, kernel) - kernel.time_s) / kernel.time_s;
}

KernelLaws search_laws(const TimedKernels& kernels) {
    if (!has_first(kernels)) return {search_law(kernels), {}};
    Turns turns(kernels);
    KernelLaws laws;
    laws.first.fixed_s = 1e-6;
    laws.first.row_s = 0.3e-6;
    laws.first.memory = 0.8;
    laws.law = search_law(turns.lasts(laws.first));
    return in_turns(laws, turns);
}

KernelLaws search_near(const KernelLaws& laws, const TimedKernels& kernels) {
    if (!has_first(kernels)) return {near(laws.law, kernels), {}};
    Turns turns(kernels);
    return in_turns(laws, turns);
}

}  // namespace roofline
