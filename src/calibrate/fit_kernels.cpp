#include "calibrate/fit_kernels.hpp"
#include "calibrate/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

namespace roofline {

namespace {

constexpr std::size_t plenty = 2'000;  // more rows move no constant
constexpr std::size_t enough = 500;    // to tell which terms a law has
constexpr std::size_t folds = 5;
constexpr double worth = 0.97;  // of the error of held out rows: what more numbers must make it

double bound_of(const TimedKernel& kernel) {
    double seconds = roofline::bound_of(kernel.point);
    for (const KernelPoint& point : kernel.more) seconds += roofline::bound_of(point);
    if (kernel.first) seconds += roofline::bound_of(*kernel.first);
    return seconds;
}

using Kernels = TimedKernels;

auto order(const TimedKernel& kernel) {
    const KernelPoint& point = kernel.point;
    return std::tuple(roofline::bound_of(point), point.math_s, point.vector_s, point.memory_s, point.other_s,
                      point.depth, point.write_s, point.fill, point.m, point.n, point.batch, point.rows, point.heads,
                      point.cache, kernel.time_s, kernel.before_s);
}

bool in_range(const KernelPoint& point) {
    const auto sizes = {point.math_s, point.vector_s, point.memory_s, point.other_s, point.depth,  point.write_s,
                        point.fill,   point.m,        point.n,        point.batch,   point.sums_s, point.cores,
                        point.rows,   point.heads,    point.shared_s, point.cache};
    return std::all_of(sizes.begin(), sizes.end(), [](double each) { return each >= 0 && each < 1e15; });
}

bool in_range(const TimedKernel& kernel) {
    if (!in_range(kernel.point) || !(kernel.before_s >= 0)) return false;
    if (kernel.first && !in_range(*kernel.first)) return false;
    for (const KernelPoint& point : kernel.more) {
        if (!in_range(point)) return false;
    }
    return kernel.time_s > 0 && kernel.time_s < 1e3 && kernel.time_s >= bound_of(kernel) / 2 &&
           kernel.before_s < kernel.time_s;
}

/// A wrong unit, a slipped digit.
bool far_off(const KernelLaws& laws, const TimedKernel& kernel) {
    return std::abs(std::log(seconds_of(laws, kernel) / kernel.time_s)) > std::log(30.0);
}

Kernels thinned(const Kernels& kernels, std::size_t most) {
    const std::size_t count = std::min(kernels.size(), most);
    Kernels kept;
    for (std::size_t i = 0; i < count; ++i) kept.push_back(kernels[i * kernels.size() / count]);
    return kept;
}

Kernels all_of(const std::vector<TimedKernel>& kernels) {
    Kernels all;
    for (const TimedKernel& kernel : kernels) all.push_back(&kernel);
    return all;
}

std::tuple<double, double, double> shape_of(const TimedKernel& kernel) {
    const KernelPoint& point = kernel.point;
    if (!kernel.more.empty()) return {point.n, point.depth, 0};  // layers of as many groups as there happen to be
    if (point.n > 0) return {point.n, point.depth, point.batch};
    return {roofline::bound_of(point), point.math_s, point.depth};
}

/// The fold of every kernel: products of the same n and K are held out together, whatever their m, and layers of several products
/// whatever their groups; others when they are the same.
std::vector<std::size_t> folds_of(const Kernels& kernels) {
    std::map<std::tuple<double, double, double>, std::size_t> shapes;
    for (const TimedKernel* kernel : kernels) shapes.emplace(shape_of(*kernel), 0);
    std::size_t rank = 0;
    for (auto& [shape, fold] : shapes) fold = rank++ % folds;
    std::vector<std::size_t> all;
    if (shapes.size() < 2) {  // of one shape alone each fifth row is held out
        for (std::size_t i = 0; i < kernels.size(); ++i) all.push_back(i % folds);
        return all;
    }
    for (const TimedKernel* kernel : kernels) all.push_back(shapes.at(shape_of(*kernel)));
    return all;
}

KernelFit fit_of(const KernelLaws& laws, const Kernels& kernels) {
    KernelFit fit;
    fit.law = laws.law;
    if (kernels.front()->first) fit.first = laws.first;
    return fit;
}

/// What a time says of the factors of its products.
SizedDeviation deviation_of(const KernelFit& fit, const TimedKernel& kernel) {
    SizedDeviation all;
    const double seconds = seconds_of({fit.law, fit.first.value_or(KernelLaw{})}, kernel);
    const auto add = [&](const KernelPoint& point) {
        all.products.push_back({sizes_of(point), seconds_of(fit.law, point) / seconds});
    };
    add(kernel.point);
    for (const KernelPoint& point : kernel.more) add(point);
    all.deviation = std::log(kernel.time_s / seconds);
    return all;
}

SizeFactors factors_for(const KernelFit& fit, const Kernels& kernels) {
    std::vector<SizedDeviation> deviations;
    deviations.reserve(kernels.size());
    for (const TimedKernel* kernel : kernels) deviations.push_back(deviation_of(fit, *kernel));
    return fit_factors(deviations);
}

struct HeldOutErrors {
    double plain = 0;
    double with_factors = 0;
};

HeldOutErrors held_out_errors(const KernelLaws& fitted, const Kernels& kernels) {
    const std::vector<std::size_t> fold = folds_of(kernels);
    HeldOutErrors sum;
    double rows = 0;
    for (std::size_t held = 0; held < folds; ++held) {
        Kernels kept;
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            if (fold[i] != held) kept.push_back(kernels[i]);
        }
        if (kept.size() == kernels.size() || kept.empty()) continue;
        const KernelFit plain = fit_of(search_near(fitted, thinned(kept, plenty)), kept);
        KernelFit with_factors = plain;
        with_factors.factors = factors_for(plain, kept);
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            if (fold[i] != held) continue;
            sum.plain += error_of(plain, *kernels[i]);
            sum.with_factors += error_of(with_factors, *kernels[i]);
            rows += 1;
        }
    }
    if (!(rows > 0)) return {};
    return {sum.plain / rows, sum.with_factors / rows};
}

KernelLaws rounded(const KernelLaws& laws) { return {roofline::rounded(laws.law), roofline::rounded(laws.first)}; }

/// One law for all.
std::optional<KernelFit> fit_alike(std::vector<TimedKernel> kernels) {
    std::size_t left_out = std::erase_if(kernels, [](const auto& each) { return !in_range(each); });
    if (kernels.size() < fewest_kernels) return std::nullopt;
    std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return order(a) < order(b); });
    const KernelLaws terms = search_laws(thinned(all_of(kernels), enough));
    const std::size_t far = std::erase_if(kernels, [&](const auto& each) { return far_off(terms, each); });
    left_out += far;
    if (kernels.size() < fewest_kernels) return std::nullopt;
    const Kernels taken = all_of(kernels);
    const bool done = far == 0 && taken.size() <= enough;
    const KernelLaws laws = rounded(done ? terms : search_near(terms, thinned(taken, plenty)));
    KernelFit fit = fit_of(laws, taken);
    fit.left_out = static_cast<std::int64_t>(left_out);
    const HeldOutErrors held_out = held_out_errors(laws, taken);
    const bool factors = held_out.with_factors < worth * held_out.plain;
    if (factors) fit.factors = factors_for(fit, taken);
    fit.error_held_out = factors ? held_out.with_factors : held_out.plain;
    fit.rows = static_cast<std::int64_t>(taken.size());
    fit.least_s = infinity;
    for (const TimedKernel* kernel : taken) {
        fit.least_s = std::min(fit.least_s, kernel->time_s);
        fit.most_s = std::max(fit.most_s, kernel->time_s);
        fit.error_fitted += error_of(fit, *kernel);
        fit.error_of_bound += std::abs(bound_of(*kernel) - kernel->time_s) / kernel->time_s;
    }
    fit.error_fitted /= static_cast<double>(taken.size());
    fit.error_of_bound /= static_cast<double>(taken.size());
    return fit;
}

/// What kernels may differ by: heads or their size where all of them have some, rows where all are of products and none has heads.
/// Empty for others, and where one time holds products of different rows.
std::vector<BandsBy> bands_by(const std::vector<TimedKernel>& kernels) {
    const auto all = [&](auto&& is) { return std::all_of(kernels.begin(), kernels.end(), is); };
    if (all([](const TimedKernel& each) { return each.point.heads > 0 && each.more.empty() && !each.first; })) {
        return {BandsBy::heads, BandsBy::n};
    }
    const bool rows = all([](const TimedKernel& each) {
        const auto alike = [&](const KernelPoint& other) { return other.m == each.point.m; };
        return each.point.m > 0 && !(each.point.heads > 0) && std::all_of(each.more.begin(), each.more.end(), alike);
    });
    if (rows) return {BandsBy::m};
    return {};
}

/// 0 where it is not known.
double band_size(BandsBy by, const KernelPoint& point) {
    if (by == BandsBy::n) return point.n;
    // of attention to a product without tokens all rows are heads
    return by == BandsBy::heads && point.heads > 0 ? point.heads : point.m;
}

/// By rows held out of published tables. 32 heads are what the decode kernels of TensorRT-LLM take at once; 1 row is a vector, up to
/// 8 fit what multiplies without tiles, up to 64 half a tile, and beyond 512 kernels are bound by the matrix units. Heads are of the
/// sizes that models have, and libraries have kernels compiled for each, or for none.
std::vector<double> band_limits(BandsBy by) {
    if (by == BandsBy::heads) return {1, 32, LawInUse::unlimited};
    if (by == BandsBy::n) return {64, 128, 192, 256, LawInUse::unlimited};
    return {1, 8, 64, 512, LawInUse::unlimited};
}

/// Kernels by their heads, columns or rows, those of the limits and more; too few of them count with those that have more, at the end with
/// fewer.
struct Band {
    double most = LawInUse::unlimited;
    std::vector<TimedKernel> kernels{};
};
std::vector<Band> bands_of(const std::vector<TimedKernel>& kernels, BandsBy by) {
    // of products by ever fewer rows held out ones get no nearer on the whole
    const std::size_t fewest = (by == BandsBy::m ? 4 : 2) * folds;
    std::vector<Band> bands;
    std::vector<TimedKernel> few;
    double above = 0;
    for (const double most : band_limits(by)) {
        Band band{most, std::move(few)};
        few.clear();
        for (const TimedKernel& kernel : kernels) {
            const double size = band_size(by, kernel.point);
            if (size > above && size <= most) band.kernels.push_back(kernel);
        }
        above = most;
        if (band.kernels.size() >= fewest) {
            bands.push_back(std::move(band));
        } else {
            few = std::move(band.kernels);
        }
    }
    if (bands.empty()) return bands;
    bands.back().most = LawInUse::unlimited;
    bands.back().kernels.insert(bands.back().kernels.end(), few.begin(), few.end());
    return bands;
}

/// A law for each band; none where there is but one.
std::optional<KernelFit> fit_bands(const std::vector<TimedKernel>& kernels, BandsBy by) {
    std::vector<Band> bands = bands_of(kernels, by);
    if (bands.size() < 2) return std::nullopt;
    KernelFit all;
    all.by = by;
    all.least_s = infinity;
    double rows = 0;
    for (Band& band : bands) {
        const auto fit = fit_alike(std::move(band.kernels));
        if (!fit) return std::nullopt;
        if (band.most < LawInUse::unlimited) {
            all.bands.push_back({band.most, {fit->law, fit->factors}});
        } else {
            all.law = fit->law;
            all.factors = fit->factors;
        }
        const auto more = static_cast<double>(fit->rows);
        const auto join = [&](double KernelFit::* error) {
            all.*error = (all.*error * rows + (*fit).*error * more) / (rows + more);
        };
        join(&KernelFit::error_fitted);
        join(&KernelFit::error_held_out);
        join(&KernelFit::error_of_bound);
        rows += more;
        all.rows += fit->rows;
        all.left_out += fit->left_out;
        all.least_s = std::min(all.least_s, fit->least_s);
        all.most_s = std::max(all.most_s, fit->most_s);
    }
    return all;
}

/// The law of what ran first stays that of all kernels; the others' are those of what it leaves.
std::optional<KernelFit> fit_apart(std::vector<TimedKernel> kernels, BandsBy by,
                                   const std::optional<KernelFit>& alike) {
    for (TimedKernel& kernel : kernels) {
        if (!kernel.first) continue;
        if (!alike) return std::nullopt;
        kernel.before_s += seconds_of(*alike->first, *kernel.first);
        kernel.first.reset();
    }
    auto apart = fit_bands(kernels, by);
    if (apart && alike) apart->first = alike->first;
    return apart;
}

}  // namespace

KernelPoint point_for(const KernelFit& fit, KernelPoint point) {
    if (fit.whole && point.cache > 0) point.depth = point.cache;
    return point;
}

LawInUse law_for(const KernelFit& fit, const KernelPoint& point) {
    const double size = band_size(fit.by, point);
    if (fit.bands.empty() || !(size > 0)) return {fit.law, fit.factors};
    double least = 1;
    for (const BandLaw& band : fit.bands) {
        if (size <= band.most) return {band.sized.law, band.sized.factors, least, band.most};
        least = band.most + 1;
    }
    return {fit.law, fit.factors, least};
}

double seconds_of(const KernelFit& fit, const KernelPoint& point) {
    const KernelPoint taken = point_for(fit, point);
    const LawInUse by = law_for(fit, taken);
    const double seconds = seconds_of(by.law, taken);
    if (by.factors.logs.empty()) return seconds;
    // data from a cache may be faster than the bound already
    return std::max(seconds * factor_of(by.factors, taken), std::min(seconds, bound_of(taken)));
}

double error_of(const KernelFit& fit, const TimedKernel& kernel) {
    double seconds = seconds_behind(fit, kernel);
    if (kernel.first && fit.first) seconds += seconds_of(*fit.first, *kernel.first);
    return std::abs(seconds - kernel.time_s) / kernel.time_s;
}

KernelLaw rounded(KernelLaw law) {
    // what no clock could tell from nothing is nothing
    law.fixed_s = law.fixed_s < 1e-10 ? 0 : four_digits(law.fixed_s * 1e6) / 1e6;
    law.ramp_s = law.ramp_s < 1e-15 ? 0 : four_digits(law.ramp_s * 1e9) / 1e9;
    law.split_s = law.split_s < 1e-10 ? 0 : four_digits(law.split_s * 1e6) / 1e6;
    law.wave_s = law.wave_s < 1e-10 ? 0 : four_digits(law.wave_s * 1e6) / 1e6;
    law.row_s = law.row_s < 1e-10 ? 0 : four_digits(law.row_s * 1e6) / 1e6;
    for (double* const constant : {&law.math, &law.vector, &law.memory, &law.p, &law.write, &law.warm, &law.cache,
                                   &law.partial, &law.busy, &law.reread})
        *constant = four_digits(*constant);
    return law;
}

std::optional<KernelFit> fit_kernels(std::vector<TimedKernel> kernels) {
    const bool whole = !kernels.empty() && std::all_of(kernels.begin(), kernels.end(), [](const TimedKernel& each) {
        return each.point.cache > 0 && each.more.empty() && !each.first;
    });
    if (whole) {
        for (TimedKernel& each : kernels) each.point.depth = each.point.cache;
    }
    const std::optional<KernelFit> alike = fit_alike(kernels);
    std::optional<KernelFit> best = alike;
    for (const BandsBy by : bands_by(kernels)) {
        std::optional<KernelFit> apart = fit_apart(kernels, by, alike);
        if (!apart) continue;
        // published kernels timed again are 4 to 6 % off their median: so well is a mean of so many known
        const double noise = 0.05 / std::sqrt(static_cast<double>(apart->rows));
        const bool nearer = !alike || apart->error_held_out < worth * alike->error_held_out - noise;
        if (nearer && (!best || apart->error_held_out < best->error_held_out)) best = std::move(apart);
    }
    if (best) best->whole = whole;
    return best;
}

}  // namespace roofline
