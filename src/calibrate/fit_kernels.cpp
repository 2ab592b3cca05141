#include "calibrate/fit_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "calibrate/least_squares.hpp"

namespace roofline {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t plenty = 20'000;
constexpr std::size_t folds = 5;

double bound_of(const KernelPoint& point) { return norm_of(parts_of(KernelLaw{}, point), infinity); }

double four_digits(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

/// Of base, ramp, and the slowdowns of math, vector and memory, which least squares solves for.
/// No resource runs faster than published, so an expected time is never below the bound.
KernelLaw law_of(const Constants& constants, double p) {
    const auto fraction = [](double slowdown) { return slowdown > 1 ? 1 / slowdown : 1; };
    return {constants[0], constants[1], fraction(constants[2]), fraction(constants[3]), fraction(constants[4]), p};
}

/// The law at these constants as a sum: a p-norm is the sum of its parts, each times (part / norm)^(p - 1), and changes with
/// each constant by just that (Euler: it is homogeneous).
struct Linear {
    Constants features{};
    double rest = 0;  ///< what no constant multiplies
};

Linear linear_at(const KernelLaw& law, const KernelPoint& point) {
    const auto parts = parts_of(law, point);
    const double norm = norm_of(parts, law.p);
    const auto share = [&](double part) {
        if (!(part > 0)) return 0.0;
        if (std::isinf(law.p)) return part == norm ? 1.0 : 0.0;
        return std::pow(part / norm, law.p - 1);
    };
    return {{1, point.depth, point.math_s * share(parts[0]), point.vector_s * share(parts[1]),
             point.memory_s * share(parts[2])},
            point.other_s * share(parts[3])};
}

using Kernels = std::vector<const TimedKernel*>;

double loss_of(const KernelLaw& law, const Kernels& kernels) {
    double loss = 0;
    for (const TimedKernel* kernel : kernels)
        loss += std::abs(std::log(seconds_of(law, kernel->point) / kernel->time_s));
    return loss;
}

double error_of(const KernelLaw& law, const TimedKernel& kernel) {
    return std::abs(seconds_of(law, kernel.point) - kernel.time_s) / kernel.time_s;
}

/// One step: least squares of the law made linear. Weights make squares of the last deviations into absolute values.
KernelLaw improved(const KernelLaw& law, const Kernels& kernels) {
    constexpr double floor = 0.02;  // below it deviations are noise and count alike
    LeastSquares sums;
    for (const TimedKernel* kernel : kernels) {
        Linear linear = linear_at(law, kernel->point);
        const double left = kernel->time_s - linear.rest;
        if (std::abs(left) < 1e-6 * kernel->time_s) continue;
        for (double& feature : linear.features) feature /= left;
        const double off = std::abs(seconds_of(law, kernel->point) / kernel->time_s - 1);
        const double share = left / kernel->time_s;
        sums.add(linear.features, share * share * floor / std::max(off, floor));
    }
    // what the points do not tell stays as published
    const double hint = 1e-4 * static_cast<double>(kernels.size());
    for (std::size_t i = 2; i < constant_count; ++i) {
        Constants published{};
        published[i] = 1;
        sums.add(published, hint);
    }
    return law_of(sums.solve(), law.p);
}

struct Fitted {
    KernelLaw law;
    double loss = infinity;
};

/// The best law with this p, from a start.
Fitted fitted_at(double p, KernelLaw start, const Kernels& kernels) {
    constexpr int most_steps = 20;
    start.p = p;
    Fitted best{start, loss_of(start, kernels)};
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

/// p is searched for by 1/p: 0 is the maximum, 1 the sum.
Fitted fitted(const Kernels& kernels) {
    const auto at = [&](double inverse, const KernelLaw& start) {
        return fitted_at(inverse > 0 ? 1 / inverse : infinity, start, kernels);
    };
    const KernelLaw start{1e-6, 0, 0.8, 0.8, 0.8, 2};
    const double noticed = 1e-4 * static_cast<double>(kernels.size());  // a hundredth of a per cent a row
    Fitted best;
    double found = 0;
    for (int tenth = 0; tenth <= 10; ++tenth) {
        const double inverse = tenth / 10.0;
        const Fitted next = at(inverse, start);
        if (next.loss > best.loss - noticed) continue;
        best = next;
        found = inverse;
    }
    for (const double step : {0.05, 0.025, 0.0125}) {
        const double middle = found;
        for (const double inverse : {middle - step, middle + step}) {
            if (inverse < 0 || inverse > 1) continue;
            const Fitted next = at(inverse, best.law);
            if (next.loss > best.loss - noticed) continue;
            best = next;
            found = inverse;
        }
    }
    best.law = rounded(best.law);
    return best;
}

auto order(const TimedKernel& kernel) {
    const KernelPoint& point = kernel.point;
    return std::tuple(bound_of(point), point.math_s, point.vector_s, point.memory_s, point.other_s, point.depth,
                      kernel.time_s);
}

bool in_range(const TimedKernel& kernel) {
    const KernelPoint& point = kernel.point;
    for (const double each : {point.math_s, point.vector_s, point.memory_s, point.other_s, point.depth}) {
        if (!(each >= 0 && each < 1e15)) return false;
    }
    return kernel.time_s > 0 && kernel.time_s < 1e3 && kernel.time_s >= bound_of(point) / 2;
}

/// A wrong unit, a slipped digit.
bool far_off(const KernelLaw& law, const TimedKernel& kernel) {
    return std::abs(std::log(seconds_of(law, kernel.point) / kernel.time_s)) > std::log(30.0);
}

double held_out_error(const Kernels& kernels) {
    std::vector<std::size_t> fold(kernels.size());  // the same kernel timed again belongs to the same fold
    std::size_t distinct = 0;
    for (std::size_t i = 1; i < kernels.size(); ++i) {
        if (!(kernels[i]->point == kernels[i - 1]->point)) ++distinct;
        fold[i] = distinct % folds;
    }
    double sum = 0;
    double rows = 0;
    for (std::size_t held = 0; held < folds; ++held) {
        Kernels kept;
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            if (fold[i] != held) kept.push_back(kernels[i]);
        }
        if (kept.size() == kernels.size() || kept.empty()) continue;
        const KernelLaw law = fitted(kept).law;
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            if (fold[i] != held) continue;
            sum += error_of(law, *kernels[i]);
            rows += 1;
        }
    }
    return rows > 0 ? sum / rows : 0;
}

Kernels thinned(const std::vector<TimedKernel>& kernels) {
    const std::size_t count = std::min(kernels.size(), plenty);
    Kernels kept;
    for (std::size_t i = 0; i < count; ++i) kept.push_back(&kernels[i * kernels.size() / count]);
    return kept;
}

}  // namespace

KernelLaw rounded(KernelLaw law) {
    // what no clock could tell from nothing is nothing
    law.fixed_s = law.fixed_s < 1e-10 ? 0 : four_digits(law.fixed_s * 1e6) / 1e6;
    law.ramp_s = law.ramp_s < 1e-15 ? 0 : four_digits(law.ramp_s * 1e9) / 1e9;
    for (double* const constant : {&law.math, &law.vector, &law.memory, &law.p}) *constant = four_digits(*constant);
    return law;
}

std::optional<KernelFit> fit_kernels(std::vector<TimedKernel> kernels) {
    KernelFit fit;
    fit.left_out = static_cast<std::int64_t>(std::erase_if(kernels, [](const auto& each) { return !in_range(each); }));
    if (kernels.size() < fewest_kernels) return std::nullopt;
    std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return order(a) < order(b); });
    const KernelLaw first = fitted(thinned(kernels)).law;
    const std::size_t far = std::erase_if(kernels, [&](const auto& each) { return far_off(first, each); });
    fit.left_out += static_cast<std::int64_t>(far);
    if (kernels.size() < fewest_kernels) return std::nullopt;
    const Kernels taken = thinned(kernels);
    fit.law = far == 0 ? first : fitted(taken).law;
    fit.rows = static_cast<std::int64_t>(taken.size());
    fit.least_s = infinity;
    for (const TimedKernel* kernel : taken) {
        fit.least_s = std::min(fit.least_s, kernel->time_s);
        fit.most_s = std::max(fit.most_s, kernel->time_s);
        fit.error_fitted += error_of(fit.law, *kernel);
        fit.error_of_bound += std::abs(bound_of(kernel->point) - kernel->time_s) / kernel->time_s;
    }
    fit.error_fitted /= static_cast<double>(taken.size());
    fit.error_of_bound /= static_cast<double>(taken.size());
    fit.error_held_out = held_out_error(taken);
    return fit;
}

}  // namespace roofline
