// How far predictions are from measurements: over all rows, by group, and the worst.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "predict/compare/comparison.hpp"

namespace roofline::core {

/// Of relative errors. The quantiles lie between rows, in proportion (as most statistics programs have it).
struct ErrorStats {
    std::size_t rows = 0;
    double mean = 0;
    double median = 0;
    double p90 = 0;  ///< nine tenths of the rows are no further off
};
[[nodiscard]] ErrorStats error_stats(std::vector<double> errors);

/// Rows that have something in common.
struct ErrorGroup {
    std::string
        by;  ///< "operation", "system", "source" and "strategy" (of runs), "dtype", "size", "devices", "software",
             ///< "variant"; which of them depends on what was measured
    std::string name;  ///< "h100-sxm", "1 MB to 10 MB"
    std::string
        operation;  ///< of a system, size or number of devices: only the rows of this operation; "" for all of them
    ErrorStats error;
    std::size_t below_lower = 0;
};

/// The same thing measured several times: what no prediction can explain.
struct Repeats {
    std::size_t rows = 0;  ///< that have at least one other like them
    double mean = 0;       ///< of |time - median of its repeats| / median
};

struct ErrorSummary {
    /// Whether `error` is that of expected times. Then rows that nothing is calibrated for are not in it or in the
    /// groups; else it is the error of the lower bounds.
    bool of_expected = false;
    ErrorStats error;
    ErrorStats error_of_lower;  ///< of all rows
    std::size_t below_lower = 0;
    std::size_t cached = 0;  ///< rows that only a cache can have made so fast
    std::vector<ErrorGroup>
        groups;  ///< by `by` in the order above, then name (sizes and devices by number), then operation
    std::vector<std::size_t> worst;  ///< indices of the rows that are furthest off, the worst first, ten at most
    std::vector<std::size_t> below;  ///< indices of the rows below the lower bound, the furthest first
    std::optional<Repeats> repeats;
    ErrorStats memory;                      ///< of rows that say what was held; no rows where none does
    std::vector<ErrorGroup> memory_groups;  ///< of these, by "source" and by "what" was counted
};

[[nodiscard]] ErrorSummary summarise(const std::vector<Comparison>& rows);

/// The decade of a size: "1 kB to 10 kB", "below 1 kB" (nothing happens there but latency).
[[nodiscard]] std::string size_decade(double bytes);

}  // namespace roofline::core
