#include "calibrate/kernel/fit_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "calibrate/constants.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_parameter_rows = 2'000;  // more measurements do not change the parameters
constexpr std::size_t max_term_rows = 500;         // to determine the terms of a model

using Kernels = TimedKernels;

auto order(const TimedKernel& kernel) {
    const KernelPoint& point = kernel.point;
    return std::tuple(roofline::core::bound_of(point), point.math_s, point.vector_s, point.memory_s, point.other_s,
                      point.depth, point.write_s, point.fill, point.m, point.n, point.batch, point.rows, point.columns,
                      point.heads, point.cache, kernel.time_s, kernel.known_s);
}

bool in_range(const KernelPoint& point) {
    const auto sizes = {point.memory_Bps, point.math_s,         point.vector_s, point.memory_s, point.other_s,
                        point.depth,      point.write_s,        point.fill,     point.m,        point.n,
                        point.batch,      point.partial_sums_s, point.cores,    point.rows,     point.columns,
                        point.heads,      point.shared_read_s,  point.cache,    point.inner_s,  point.padding_s,
                        point.group};
    return std::all_of(sizes.begin(), sizes.end(), [](double each) { return each >= 0 && each < 1e15; });
}

bool in_range(const TimedKernel& kernel) {
    if (!in_range(kernel.point) || !(kernel.known_s >= 0)) return false;
    if (kernel.first && !in_range(*kernel.first)) return false;
    double least_s = resident_bound_of(kernel.point);
    for (const KernelPoint& point : kernel.more) {
        if (!in_range(point)) return false;
        least_s += resident_bound_of(point);
    }
    return kernel.time_s > 0 && kernel.time_s < 1e3 && kernel.time_s >= least_s / 2 && kernel.known_s < kernel.time_s;
}

/// Returns whether a prediction is off by more than a factor of 30, so that the measurement must have a wrong unit or a
/// misplaced decimal point.
bool is_far_off(double seconds, const TimedKernel& kernel) {
    return std::abs(std::log(seconds / kernel.time_s)) > std::log(30.0);
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

KernelFit fit_of(const KernelModels& models, const Kernels& kernels) {
    KernelFit fit;
    fit.model = models.model;
    if (kernels.front()->first) fit.first = models.first;
    return fit;
}

/// The fits without each fold, and the mean error of the folds by the fits without them.
struct HeldOut {
    std::array<KernelFit, kernel_folds> without{};
    double error = 0;
};

/// Models of the kernels outside of each fold: without factors, and with those of each grain.
using Grains = std::array<HeldOut, 1 + factor_grains.size()>;
Grains hold_out(const KernelModels& fitted, const Kernels& kernels, const FoldsOfShapes& shapes) {
    Grains all;
    const auto folds = in_folds(kernels, shapes);
    for (std::size_t held = 0; held < kernel_folds; ++held) {
        const Kernels kept = without_fold(folds, held);
        const KernelFit plain = fit_of(search_near(fitted, thinned(kept, max_parameter_rows)), kept);
        const std::vector<SizedDeviation> deviations = deviations_from(plain, kept);
        for (std::size_t grain = 0; grain < all.size(); ++grain) {
            KernelFit& fit = all[grain].without[held] = plain;
            if (grain > 0) fit.factors = fit_factors(deviations, factor_grains[grain - 1]);
            all[grain].error += sum_of_errors(fit, folds[held]) / static_cast<double>(kernels.size());
        }
    }
    return all;
}

/// Returns the index of the fit to use. Each fit has more parameters than those before it, and must have a sufficiently
/// smaller held-out error to be preferred.
template <class HeldOuts>
std::size_t worth_having(const HeldOuts& held_out) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < held_out.size(); ++i) {
        if (held_out[i].error < max_error_ratio * held_out[best].error) best = i;
    }
    return best;
}

KernelModels rounded(const KernelModels& models) {
    return {roofline::core::rounded(models.model), roofline::core::rounded(models.first)};
}

/// Removes invalid measurements and sorts the others; returns the number of removed ones.
std::size_t leave_out(std::vector<TimedKernel>& kernels) {
    const std::size_t wrong = std::erase_if(kernels, [](const auto& each) { return !in_range(each); });
    std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return order(a) < order(b); });
    return wrong;
}

/// A single model, and the kernels that it was fitted to.
struct SingleFit {
    FoldedFit folded;
    std::vector<TimedKernel> taken;
};

/// Fits a single model to all kernels. Shapes in `folds` keep their folds.
std::optional<SingleFit> fit_single(std::vector<TimedKernel> kernels, const FoldsOfShapes& folds = {}) {
    std::size_t left_out = leave_out(kernels);
    if (kernels.size() < min_kernels) return std::nullopt;
    const KernelModels terms = search_models(thinned(all_of(kernels), max_term_rows));
    const std::size_t far =
        std::erase_if(kernels, [&](const auto& each) { return is_far_off(seconds_of(terms, each), each); });
    left_out += far;
    if (kernels.size() < min_kernels) return std::nullopt;
    const Kernels taken = all_of(kernels);
    const bool done = far == 0 && taken.size() <= max_term_rows;
    const KernelModels models = rounded(done ? terms : search_near(terms, thinned(taken, max_parameter_rows)));
    FoldedFit all{fit_of(models, taken), folds_of(taken, folds), {}};
    Grains held_out = hold_out(models, taken, all.folds);
    const std::size_t grain = worth_having(held_out);
    if (grain > 0) all.fit.factors = fit_factors(deviations_from(all.fit, taken), factor_grains[grain - 1]);
    all.without = std::move(held_out[grain].without);
    all.fit.error_held_out = held_out[grain].error;
    all.fit.left_out = static_cast<std::int64_t>(left_out);
    describe(all.fit, taken);
    return SingleFit{std::move(all), std::move(kernels)};
}

/// Returns the quantities by which the kernels may have separate models: heads or head size if all have heads, rows if
/// all are matmuls without heads. Empty for other kernels, and if one time contains matmuls with different rows.
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

/// Chosen by the held-out error on published tables. The decode kernels of TensorRT-LLM process 32 heads at a time. One
/// row is a vector, up to 8 rows use kernels without tiles, up to 64 half a tile, and above 512 rows kernels are bound
/// by the matrix units. Models have particular head sizes, and libraries have kernels compiled for each of them, or for
/// none.
std::vector<double> band_limits(BandsBy by) {
    if (by == BandsBy::heads) return {1, 32, AppliedModel::unlimited};
    if (by == BandsBy::n) return {64, 128, 192, 256, AppliedModel::unlimited};
    return {1, 8, 64, 512, AppliedModel::unlimited};
}

/// The kernels of one band, and those above it over which its model is blended.
struct Band {
    double above = 0;
    double most = AppliedModel::unlimited;
    std::vector<TimedKernel> kernels{};

    [[nodiscard]] bool is_for(double size) const { return size > above && size <= most; }
};

/// Returns the limits at which bands end. A band with too few kernels is merged with the next one, or at the end with
/// the previous one.
std::vector<double> band_ends(const std::vector<TimedKernel>& kernels, BandsBy by) {
    // with fewer rows per band, the held-out error of matmuls does not decrease overall
    const std::size_t fewest = (by == BandsBy::m ? 4 : 2) * kernel_folds;
    std::vector<double> ends;
    double above = 0;
    for (const double most : band_limits(by)) {
        const auto count = std::count_if(kernels.begin(), kernels.end(), [&](const TimedKernel& kernel) {
            const double size = band_size(by, kernel.point);
            return size > above && size <= most;
        });
        if (static_cast<std::size_t>(count) < fewest) continue;
        ends.push_back(most);
        above = most;
    }
    if (!ends.empty()) ends.back() = AppliedModel::unlimited;
    return ends;
}

/// Returns the kernels by their heads, columns or rows.
std::vector<Band> bands_of(const std::vector<TimedKernel>& kernels, BandsBy by) {
    std::vector<Band> bands;
    double above = 0;
    const std::vector<double> ends = band_ends(kernels, by);
    for (std::size_t i = 0; i < ends.size(); ++i) {
        Band band{above, ends[i]};
        const double faded = blend_end(by, ends[i], i + 1 < ends.size() ? ends[i + 1] : AppliedModel::unlimited);
        for (const TimedKernel& kernel : kernels) {
            const double size = band_size(by, kernel.point);
            if (band.is_for(size) || (size > above && size < faded)) band.kernels.push_back(kernel);
        }
        above = ends[i];
        bands.push_back(std::move(band));
    }
    return bands;
}

void add_band(KernelFit& all, double most, const KernelFit& band) {
    if (most < AppliedModel::unlimited) {
        all.bands.push_back({most, {band.model, band.factors}});
    } else {
        all.model = band.model;
        all.factors = band.factors;
    }
}

/// Fits a model per band; none if there is only one band.
std::optional<FoldedFit> fit_bands(const std::vector<TimedKernel>& kernels, BandsBy by) {
    const std::vector<Band> bands = bands_of(kernels, by);
    if (bands.size() < 2) return std::nullopt;
    FoldedFit all;
    all.folds = folds_of(all_of(kernels));
    KernelFit& fit = all.fit;
    fit.by = by;
    for (KernelFit& without : all.without) without.by = by;
    std::vector<TimedKernel> taken;
    for (const Band& band : bands) {
        const auto of_band = fit_single(band.kernels, all.folds);
        if (!of_band) return std::nullopt;
        add_band(fit, band.most, of_band->folded.fit);
        for (std::size_t i = 0; i < kernel_folds; ++i) {
            add_band(all.without[i], band.most, of_band->folded.without[i]);
        }
        for (const TimedKernel& kernel : of_band->taken) {
            if (band.is_for(band_size(by, kernel.point))) taken.push_back(kernel);
        }
    }
    // errors are those of all models together, including the blended range
    const auto folds = in_folds(all_of(taken), all.folds);
    for (std::size_t i = 0; i < kernel_folds; ++i) fit.error_held_out += sum_of_errors(all.without[i], folds[i]);
    fit.error_held_out /= static_cast<double>(taken.size());
    fit.left_out = static_cast<std::int64_t>(kernels.size() - taken.size());
    describe(fit, all_of(taken));
    return all;
}

/// Fits separate models. The model of the first kernels is that of all; the others are fitted to the remaining times.
std::optional<FoldedFit> fit_separately(std::vector<TimedKernel> kernels, BandsBy by,
                                        const std::optional<SingleFit>& alike) {
    for (TimedKernel& kernel : kernels) {
        if (!kernel.first) continue;
        if (!alike) return std::nullopt;
        kernel.known_s += seconds_of(*alike->folded.fit.first, *kernel.first);
        kernel.first.reset();
    }
    auto by_band = fit_bands(kernels, by);
    if (!by_band || !alike) return by_band;
    by_band->fit.first = alike->folded.fit.first;
    for (std::size_t i = 0; i < kernel_folds; ++i) by_band->without[i].first = alike->folded.without[i].first;
    return by_band;
}

/// Sets the depth of windowed attention to the length of the KV cache if all measurements have one; returns whether it
/// did.
bool set_depth_to_cache(std::vector<TimedKernel>& kernels) {
    const bool whole = !kernels.empty() && std::all_of(kernels.begin(), kernels.end(), [](const TimedKernel& each) {
        return each.point.cache > 0 && each.more.empty() && !each.first;
    });
    if (whole) {
        for (TimedKernel& each : kernels) each.point.depth = each.point.cache;
    }
    return whole;
}

/// Returns the other model with additional factors, fitted to the deviations of the kernels from it.
KernelFit corrected(const KernelFit& relative, const std::vector<SizedDeviation>& deviations,
                    const FactorGrain& grain) {
    KernelFit fit = relative;
    const SizeFactors own = fit_factors(deviations, grain);
    double least = 1;
    const auto correct = [&](SizeFactors& factors, double faded, double most) {
        const bool of_m = fit.by == BandsBy::m && !fit.bands.empty();
        factors = of_m ? product_of(factors, own, least, faded) : product_of(factors, own);
        least = most + 1;
    };
    for (std::size_t i = 0; i < fit.bands.size(); ++i) {
        BandModel& band = fit.bands[i];
        const double next = i + 1 < fit.bands.size() ? fit.bands[i + 1].most : AppliedModel::unlimited;
        correct(band.sized.factors, blend_end(fit.by, band.most, next), band.most);
    }
    correct(fit.factors, AppliedModel::unlimited, AppliedModel::unlimited);
    return fit;
}

}  // namespace

std::optional<FoldedFit> fit_kernels_in_folds(std::vector<TimedKernel> kernels) {
    const bool whole = set_depth_to_cache(kernels);
    const std::optional<SingleFit> alike = fit_single(kernels);
    std::optional<FoldedFit> best;
    if (alike) best = alike->folded;
    for (const BandsBy by : bands_by(kernels)) {
        std::optional<FoldedFit> by_band = fit_separately(kernels, by, alike);
        if (!by_band) continue;
        // repeated measurements of published kernels deviate from their median by 4 to 6 %; the mean over the rows is
        // more accurate by the square root of their number
        const double noise = 0.05 / std::sqrt(static_cast<double>(by_band->fit.rows));
        const bool nearer =
            !alike || by_band->fit.error_held_out < max_error_ratio * alike->folded.fit.error_held_out - noise;
        if (nearer && (!best || by_band->fit.error_held_out < best->fit.error_held_out)) best = std::move(by_band);
    }
    if (!best) return best;
    best->fit.whole = whole;
    for (KernelFit& without : best->without) without.whole = whole;
    return best;
}

std::optional<KernelFit> fit_kernels(std::vector<TimedKernel> kernels) {
    const auto folded = fit_kernels_in_folds(std::move(kernels));
    return folded ? std::optional(folded->fit) : std::nullopt;
}

std::optional<KernelFit> fit_like(const FoldedFit& relative, std::vector<TimedKernel> kernels) {
    if (set_depth_to_cache(kernels) != relative.fit.whole) return std::nullopt;
    std::size_t left_out = leave_out(kernels);
    left_out +=
        std::erase_if(kernels, [&](const auto& each) { return is_far_off(seconds_of(relative.fit, each), each); });
    const bool products =
        std::all_of(kernels.begin(), kernels.end(), [](const auto& each) { return each.point.n > 0; });
    if (kernels.size() < min_kernels || !products) return std::nullopt;
    const Kernels taken = all_of(kernels);
    const auto folds = in_folds(taken, folds_of(taken, relative.folds));
    std::array<HeldOut, correction_grains.size()> held_out{};
    for (std::size_t held = 0; held < kernel_folds; ++held) {
        const auto deviations = deviations_from(relative.without[held], without_fold(folds, held));
        for (std::size_t grain = 0; grain < held_out.size(); ++grain) {
            const KernelFit fit = corrected(relative.without[held], deviations, correction_grains[grain]);
            held_out[grain].error += sum_of_errors(fit, folds[held]) / static_cast<double>(taken.size());
        }
    }
    const std::size_t grain = worth_having(held_out);
    KernelFit fit = corrected(relative.fit, deviations_from(relative.fit, taken), correction_grains[grain]);
    fit.first.reset();
    fit.error_transferred.reset();
    fit.error_held_out = held_out[grain].error;
    fit.left_out = static_cast<std::int64_t>(left_out);
    describe(fit, taken);
    return fit;
}

}  // namespace roofline::core
