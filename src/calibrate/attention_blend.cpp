#include "calibrate/attention_blend.hpp"

#include <algorithm>
#include <cmath>

#include "calibrate/kernel/kernel_fit.hpp"

namespace roofline::core {

namespace {

constexpr double decode_rows = 128;
constexpr double prefill_rows = 512;

}  // namespace

double prefill_share(const KernelPoint& point) {
    if (!(point.m > decode_rows)) return 0;
    return std::min(std::log(point.m / decode_rows) / std::log(prefill_rows / decode_rows), 1.0);
}

double decode_share(const KernelFit& prefill, const KernelPoint& point) {
    constexpr double long_context = 4;  // over the longest that was measured
    const double context = keys_per_query(point) / std::max(prefill.keys_per_query, 1.0);
    if (!(context > 1)) return 0;
    return (1 - prefill_share(point)) * std::min(std::log(context) / std::log(long_context), 1.0);
}

double share_of(const CalibratedKernel& other, const KernelFit& own, const KernelPoint& point) {
    return other.key.kind == KernelKind::causal_attention ? prefill_share(point) : decode_share(own, point);
}

bool lacks_decode(const KernelFit& fit) {
    const KernelPoint least{.m = fit.ranges.front().least};
    return prefill_share(least) >= 1;
}

namespace {

/// Returns `first` with the given weight and `second` with the rest, in logarithms.
double blended_s(double first, double second, double weight) {
    return weight >= 1 ? first : first * std::pow(second / first, 1 - weight);
}

/// Returns the time of few queries where no few queries were measured: a launch, and the bound over the fraction of
/// the memory's rate at which servers read their caches. With sglang-jax on four TPU v6e, 64 sequences of Qwen3 8B take
/// 11.1, 21.1 and 32 ms with prompts of 1024, 4096 and 8192 tokens: the times grow twice as much as the bound does with
/// the longer caches.
double unmeasured_decode_s(const KernelPoint& point) {
    constexpr double launch_s = 3e-6;
    constexpr double cache_rate = 0.5;
    return launch_s + bound_of(point) / cache_rate;
}

/// Returns the point with another number of query rows and the same keys. Queries have as many bytes as results.
KernelPoint with_rows(const KernelPoint& point, double rows) {
    const double times = rows / point.m;
    KernelPoint other = point;
    other.m = rows;
    for (double* const part :
         {&other.math_s, &other.vector_s, &other.padding_s, &other.inner_s, &other.partial_sums_s, &other.write_s}) {
        *part *= times;
    }
    const double of_rows = std::min(2 * point.write_s, point.memory_s);
    other.memory_s += (times - 1) * of_rows;
    return other;
}

/// Returns the time by the model of a kernel's own kind. If no kernels with few query rows were measured, the time
/// between the number of rows up to which decode is expected and that from which prefill is expected is interpolated,
/// linearly in the logarithms of rows and time. No measurement shows which tiles a library uses in between; with those
/// of prefill the time would jump.
double own_seconds(const KernelFit& fit, const KernelPoint& point) {
    const double share = point.whole_rows && lacks_decode(fit) ? prefill_share(point) : 1;
    if (share >= 1) return seconds_of(fit, point);
    if (!(share > 0)) return unmeasured_decode_s(point);
    const double few = unmeasured_decode_s(with_rows(point, decode_rows));
    return blended_s(seconds_of(fit, with_rows(point, prefill_rows)), few, share);
}

}  // namespace

double seconds_of(const KernelFit& fit, const CalibratedKernel* other, const KernelPoint& point) {
    const double share = other == nullptr ? 0 : share_of(*other, fit, point);
    if (!(share > 0)) return own_seconds(fit, point);
    return blended_s(seconds_of(other->fit, point), own_seconds(fit, point), share);
}

double error_of_other(const CalibratedKernel& other) {
    constexpr double one_kind_by_another = 0.36;  // the mean over 7,588 public measurements
    return std::max(other.fit.error_held_out, one_kind_by_another);
}

}  // namespace roofline::core
