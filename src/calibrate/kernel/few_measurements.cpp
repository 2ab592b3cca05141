#include "calibrate/kernel/few_measurements.hpp"

#include <algorithm>
#include <cmath>

namespace roofline::core {

namespace {

/// The mean error of models fitted to 6, 12 and 24 rows chosen at random on the other rows of the same table, times the
/// square root of their number: over 123 machines, libraries and kinds (`scripts/fit_extrapolation.py --few`).
double few_rows_error(KernelKind kind) {
    if (info(kind).family == KernelFamily::attention) return 0.72;
    if (kind == KernelKind::grouped_contraction) return 0.94;
    return kind == KernelKind::contraction ? 0.62 : 0.38;
}

}  // namespace

double error_in_range(const KernelFit& fit, KernelKind kind) {
    if (fit.rows <= 0) return fit.error_held_out;
    return std::max(fit.error_held_out, few_rows_error(kind) / std::sqrt(static_cast<double>(fit.rows)));
}

}  // namespace roofline::core
