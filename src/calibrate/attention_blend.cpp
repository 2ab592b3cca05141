#include "calibrate/attention_blend.hpp"

#include <algorithm>
#include <cmath>

#include "calibrate/kernel/kernel_fit.hpp"

namespace roofline::core {

double prefill_share(const KernelPoint& point) {
    constexpr double decode_rows = 128;
    constexpr double prefill_rows = 512;
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

double seconds_of(const KernelFit& fit, const CalibratedKernel* other, const KernelPoint& point) {
    const double share = other == nullptr ? 0 : share_of(*other, fit, point);
    if (!(share > 0)) return seconds_of(fit, point);
    const double seconds = seconds_of(other->fit, point);
    return share >= 1 ? seconds : seconds * std::pow(seconds_of(fit, point) / seconds, 1 - share);
}

double error_of_other(const CalibratedKernel& other) {
    constexpr double one_kind_by_another = 0.36;  // the mean over 7,588 public measurements
    return std::max(other.fit.error_held_out, one_kind_by_another);
}

}  // namespace roofline::core
