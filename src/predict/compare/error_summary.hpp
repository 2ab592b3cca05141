// Statistics of prediction errors: over all measurements, per group, and the largest.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "predict/compare/comparison.hpp"

namespace roofline::core {

/// Statistics of relative errors. Quantiles are interpolated linearly between measurements, as in most statistics
/// software.
struct ErrorStats {
    std::size_t rows = 0;
    double mean = 0;
    double median = 0;
    double p90 = 0;  ///< nine tenths of the errors do not exceed this
};
/// Returns the statistics of some errors.
[[nodiscard]] ErrorStats error_stats(std::vector<double> errors);

/// Measurements with a common property.
struct ErrorGroup {
    /// The property: "operation", "system", "model" and "mode" (of served models), "source" and "strategy" (of runs),
    /// "dtype", "size", "devices", "software" or "variant", depending on the kind of measurements.
    std::string by;
    std::string name;  ///< "h100-sxm", "1 MB to 10 MB"
    /// The only operation in the group; "" for all operations. Groups by operation and by variant, and those of kernels
    /// and collectives by software, exist for all operations only.
    std::string operation;
    ErrorStats error;
    std::size_t below_lower = 0;
};

/// Repeated measurements of the same operation. Their scatter is an error that no prediction can avoid.
struct Repeats {
    std::size_t rows = 0;  ///< measurements that were repeated at least once
    double mean = 0;       ///< mean of |time - median of its repeats| / median
};

/// How often predictions order the set-ups of a run as measured. A pair is two measurements of one operation with equal
/// source, system, shape (model, lengths and concurrency; batch) and dtype, of different slices, strategies or
/// software, whose measured times differ by more than a tenth of the smaller one and which both have an expected time.
struct Ordering {
    std::string operation;  ///< "decode"
    std::size_t pairs = 0;
    std::size_t right = 0;  ///< pairs whose faster one has the smaller expected time

    [[nodiscard]] double fraction() const { return static_cast<double>(right) / static_cast<double>(pairs); }
};

/// The errors of all measurements of a table.
struct ErrorSummary {
    /// Whether `error` refers to expected times. If so, measurements without a calibrated model are not part of it or
    /// of the groups. Otherwise it is the error of the lower bounds.
    bool of_expected = false;
    ErrorStats error;
    ErrorStats error_of_lower;  ///< of all measurements
    std::size_t below_lower = 0;
    std::size_t cached = 0;  ///< measurements that are only possible if data stayed in a cache
    /// Ordered by `by` as listed above, then by name (sizes and numbers of devices by value), then by operation.
    std::vector<ErrorGroup> groups;
    /// Indices of the measurements with the largest errors, the largest first, at most ten.
    std::vector<std::size_t> worst;
    std::vector<std::size_t> below;  ///< indices of the measurements below the lower bound, the farthest below first
    std::optional<Repeats> repeats;
    std::vector<Ordering> order;            ///< of training and serving, by operation; those without pairs are left out
    ErrorStats memory;                      ///< of measurements that include memory; no rows if none does
    std::vector<ErrorGroup> memory_groups;  ///< of these measurements, by "source" and by "what" was counted
};

/// Returns the errors of measurements with their groups.
[[nodiscard]] ErrorSummary summarise(const std::vector<Comparison>& rows);

/// Returns the decade of a size: "1 kB to 10 kB", or "below 1 kB", where only latency matters.
[[nodiscard]] std::string size_decade(double bytes);

}  // namespace roofline::core
