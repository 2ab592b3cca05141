#include "calibrate/kernel/kernel_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibrate/constants.hpp"

namespace roofline::core {

namespace {

/// What a time implies for the shape corrections of its matmuls.
SizedDeviation deviation_of(const KernelFit& fit, const TimedKernel& kernel) {
    SizedDeviation all;
    double seconds = kernel.known_s;
    const auto add = [&](const KernelPoint& point) {
        const double own = seconds_of(fit, point);
        all.products.push_back({sizes_of(point_for(fit, point)), own});
        seconds += own;
    };
    all.products.reserve(1 + kernel.more.size());
    add(kernel.point);
    for (const KernelPoint& point : kernel.more) add(point);
    if (kernel.first && fit.first) seconds += seconds_of(*fit.first, *kernel.first);
    for (SizedDeviation::Product& product : all.products) product.share /= seconds;
    all.deviation = std::log(kernel.time_s / seconds);
    return all;
}

}  // namespace

ProductSizes sizes_for_ranges(const KernelFit& fit, KernelPoint point) {
    if (fit.whole && point.cache > 0) point.depth = point.cache;
    ProductSizes sizes = sizes_of(point);
    // The last matmul of attention's backward pass is another one: its columns are not those of a head, and it may sum
    // over the queries of all heads that share keys, so its depth is not the number of keys.
    if (point.heads > 0 && !point.whole_rows) sizes[columns_size] = sizes[depth_size] = 0;
    if (point.keys > 0) sizes[depth_size] = point.keys;
    return sizes;
}

double keys_per_query(const KernelPoint& point) {
    return point.heads > 0 && point.m > 0 && point.whole_rows ? point.depth * point.heads / point.m : 0;
}

void widen_range(SizeRange& range, const SizeRange& other) {
    if (!(other.most > 0)) return;
    range.least = range.most > 0 ? std::min(range.least, other.least) : other.least;
    range.most = std::max(range.most, other.most);
}

namespace {

/// Includes the sizes of another kernel in the ranges. Files contain whole numbers.
void include_sizes(KernelFit& fit, const KernelPoint& point) {
    const ProductSizes sizes = sizes_for_ranges(fit, point);
    for (std::size_t i = 0; i < size_count; ++i) {
        if (sizes[i] > 0) widen_range(fit.ranges[i], {std::floor(sizes[i]), std::ceil(sizes[i])});
    }
}

}  // namespace

double band_size(BandsBy by, const KernelPoint& point) {
    if (by == BandsBy::n) return point.n;
    // in attention without token dimension, all rows are heads
    return by == BandsBy::heads && point.heads > 0 ? point.heads : point.m;
}

namespace {

/// Returns the point with its depth divided into parts, as a larger batch of matmuls whose results are added. The
/// number of parts is not rounded, so that times are continuous.
KernelPoint in_parts(const KernelPoint& point, double deepest) {
    const double parts = point.depth / deepest;
    KernelPoint cut = point;
    cut.depth = deepest;
    cut.batch *= parts;
    cut.memory_s += (parts - 1) * point.partial_sums_s;
    cut.partial_sums_s *= parts;
    return cut;
}

}  // namespace

KernelPoint point_for(const KernelFit& fit, KernelPoint point) {
    if (fit.whole && point.cache > 0) point.depth = point.cache;
    const double deepest = fit.ranges[depth_size].most;
    if (!(deepest > 0 && point.depth > deepest && point.batch > 0)) return point;
    const KernelModel& model = model_for(fit, point).model;
    if (!model.tiled || model.by_rows) return point;
    const KernelPoint cut = in_parts(point, deepest);
    return seconds_of(model, cut) < seconds_of(model, point) ? cut : point;
}

AppliedModel model_for(const KernelFit& fit, const KernelPoint& point) {
    const double size = band_size(fit.by, point);
    if (fit.bands.empty() || !(size > 0)) return {fit.model, fit.factors};
    double least = 1;
    for (const BandModel& band : fit.bands) {
        if (size <= band.most) return {band.sized.model, band.sized.factors, least, band.most};
        least = band.most + 1;
    }
    return {fit.model, fit.factors, least};
}

double blend_end(BandsBy by, double most, double next_most) {
    const double width = by == BandsBy::m ? 2 : 1.25;
    return std::min(width * most, next_most);
}

std::optional<BlendedModel> blended_model(const KernelFit& fit, const KernelPoint& point) {
    if (fit.bands.empty()) return std::nullopt;
    const double size = band_size(fit.by, point);
    double least = 1;
    for (std::size_t i = 0; i < fit.bands.size(); ++i) {
        const BandModel& band = fit.bands[i];
        if (size <= band.most) return std::nullopt;
        const double next = i + 1 < fit.bands.size() ? fit.bands[i + 1].most : AppliedModel::unlimited;
        const double end = blend_end(fit.by, band.most, next);
        if (size < end) {
            const double share = std::log(end / size) / std::log(end / band.most);
            return BlendedModel{{band.sized.model, band.sized.factors, least, band.most}, share};
        }
        least = band.most + 1;
    }
    return std::nullopt;
}

double seconds_of(const AppliedModel& used, const KernelPoint& point) {
    const double seconds = seconds_of(used.model, point);
    if (used.factors.logs.empty()) return seconds;
    return std::max(seconds * factor_of(used.factors, point), std::min(seconds, bound_of(used.model, point)));
}

namespace {

/// Returns the point of the same matmul with more rows, as if they were padded.
KernelPoint with_rows(KernelPoint point, double rows) {
    const double more = rows / point.m;
    point.math_s *= more;
    point.vector_s *= more;
    point.padding_s *= more;
    point.partial_sums_s *= more;
    point.memory_s += (more - 1) * point.write_s;
    point.write_s *= more;
    point.m = rows;
    return point;
}

/// Returns the kernel with as many rows as the next band's kernels have at least; empty where these are not taken.
std::optional<KernelPoint> with_next_rows(const KernelFit& fit, const KernelPoint& point) {
    constexpr double few_rows = 8;  // beyond, libraries keep to kernels for a range of rows that are slower
    const bool plain = point.heads == 0 && point.group == 0 && (point.batch == 1 || fit.ranges[batch_size].most == 1);
    const bool of_vector = point.m == 1 && point.batch == 1;
    if (fit.by != BandsBy::m || !plain || of_vector) return std::nullopt;
    for (std::size_t i = 0; i < fit.bands.size() && fit.bands[i].most <= few_rows; ++i) {
        const bool last = i + 1 == fit.bands.size();
        const double end = blend_end(fit.by, fit.bands[i].most, last ? AppliedModel::unlimited : fit.bands[i + 1].most);
        if (point.m < end && fit.bands[i].most > 1) return with_rows(point, end);
    }
    return std::nullopt;
}

double seconds_as_it_is(const KernelFit& fit, const KernelPoint& point) {
    const double seconds = seconds_of(model_for(fit, point), point);
    const auto fading = blended_model(fit, point);
    if (!fading || !(seconds > 0)) return seconds;
    return seconds * std::pow(seconds_of(fading->used, point) / seconds, fading->share);
}

double seconds_within(const KernelFit& fit, const KernelPoint& point) {
    const KernelPoint taken = point_for(fit, point);
    const double seconds = seconds_as_it_is(fit, taken);
    const auto padded = with_next_rows(fit, taken);
    return padded ? std::min(seconds, seconds_of(model_for(fit, *padded), *padded)) : seconds;
}

double seconds_at_any_depth(const KernelFit& fit, const KernelPoint& point) {
    const double seconds = seconds_within(fit, point);
    const double deepest = fit.ranges[depth_size].most;
    const KernelModel& model = model_for(fit, point).model;
    const bool of_vector = (point.m == 1 || point.n == 1) && point.batch == 1;
    if (!(of_vector && deepest > 0 && point.depth > deepest) || !model.tiled || model.by_rows) return seconds;
    // Matrix-vector products use kernels without tiles, whose time is that of their reads. Beyond the largest measured
    // depth the time therefore grows with the bound, while in tiles of 64 columns 63 would be computed in vain.
    KernelPoint measured = point;
    const double share = deepest / point.depth;
    measured.depth = deepest;
    for (double KernelPoint::* part : {&KernelPoint::math_s, &KernelPoint::vector_s, &KernelPoint::memory_s,
                                       &KernelPoint::other_s, &KernelPoint::fill})
        measured.*part *= share;
    measured.write_s = std::min(measured.write_s, measured.memory_s);
    const double more_s = std::max(bound_of(point) - bound_of(measured), 0.0) / model.memory;
    return std::max(std::min(seconds, seconds_within(fit, measured) + more_s), std::min(seconds, bound_of(point)));
}

}  // namespace

std::optional<KernelPoint> padded_rows(const KernelFit& fit, const KernelPoint& point) {
    auto padded = with_next_rows(fit, point);
    const bool faster = padded && seconds_of(model_for(fit, *padded), *padded) < seconds_as_it_is(fit, point);
    return faster ? padded : std::nullopt;
}

double least_seconds_of(const KernelFit& fit) {
    return std::min(fit.least_s, std::max(shortest_kernel_s, fit.launch_s));
}

double seconds_of(const KernelFit& fit, const KernelPoint& point) {
    const double seconds = seconds_at_any_depth(fit, point);
    const double least = least_seconds_of(fit);
    if (!(fit.launch_s > 0) || seconds >= fit.least_s) return std::max(seconds, least);
    // a launch that the measurements do not show: a line from the launch for no work to the shortest measured time
    return least + seconds * (1 - least / fit.least_s);
}

double seconds_of(const KernelFit& fit, const TimedKernel& kernel) {
    const double first_s = kernel.first && fit.first ? seconds_of(*fit.first, *kernel.first) : 0;
    return seconds_without_first(fit, kernel) + first_s;
}

double error_of(const KernelFit& fit, const TimedKernel& kernel) {
    return std::abs(seconds_of(fit, kernel) - kernel.time_s) / kernel.time_s;
}

double sum_of_errors(const KernelFit& fit, const TimedKernels& kernels) {
    double sum = 0;
    for (const TimedKernel* kernel : kernels) sum += error_of(fit, *kernel);
    return sum;
}

double bound_of(const TimedKernel& kernel) {
    double seconds = bound_of(kernel.point);
    for (const KernelPoint& point : kernel.more) seconds += bound_of(point);
    if (kernel.first) seconds += bound_of(*kernel.first);
    return seconds;
}

void describe(KernelFit& fit, const TimedKernels& kernels) {
    const auto rows = static_cast<double>(kernels.size());
    fit.rows = static_cast<std::int64_t>(kernels.size());
    fit.least_s = std::numeric_limits<double>::infinity();
    fit.most_s = 0;
    fit.ranges = {};
    fit.keys_per_query = 0;
    double of_bound = 0;
    for (const TimedKernel* kernel : kernels) {
        fit.least_s = std::min(fit.least_s, kernel->time_s);
        fit.most_s = std::max(fit.most_s, kernel->time_s);
        of_bound += std::abs(bound_of(*kernel) - kernel->time_s) / kernel->time_s;
        include_sizes(fit, kernel->point);
        fit.keys_per_query = std::max(fit.keys_per_query, four_digits(keys_per_query(kernel->point)));
        for (const KernelPoint& point : kernel->more) include_sizes(fit, point);
    }
    fit.error_fitted = sum_of_errors(fit, kernels) / rows;
    fit.error_of_bound = of_bound / rows;
}

std::vector<SizedDeviation> deviations_from(const KernelFit& fit, const TimedKernels& kernels) {
    std::vector<SizedDeviation> deviations;
    deviations.reserve(kernels.size());
    for (const TimedKernel* kernel : kernels) deviations.push_back(deviation_of(fit, *kernel));
    return deviations;
}

KernelModel rounded(KernelModel model) {
    for (const KernelConstant& each : kernel_constants) {
        if (each.kind == ConstantKind::flag) continue;
        double& value = each.of(model);
        // a time that cannot be measured is 0
        const double least = each.kind == ConstantKind::us ? 1e-10 : each.kind == ConstantKind::ns ? 1e-15 : 0;
        value = value < least ? 0 : four_digits(value * each.per_unit()) / each.per_unit();
    }
    return model;
}

}  // namespace roofline::core
