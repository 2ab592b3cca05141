// The errors of kernel models outside the range of sizes that they were fitted to.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "calibrate/kernel/kernel_fit.hpp"
#include "calibrate/kernel/kernel_kinds.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// Increase of a model's relative error per doubling of the ratio between a size and the nearest measured size.
struct SizeGrowth {
    double below = 0;
    double above = 0;

    bool operator==(const SizeGrowth&) const = default;
};
/// The growth of errors per size, in the order of size_names.
using Growths = std::array<SizeGrowth, size_count>;

/// Growth of errors for the classes of kernels in data/extrapolation.toml. A size without sufficient measurements has
/// the largest growth of its class.
struct Extrapolation {
    Growths products{};
    Growths experts{};
    Growths attention{};
    Growths others{};

    /// Returns the growth for a kind of kernels.
    [[nodiscard]] const Growths& of(KernelKind kind) const;
    bool operator==(const Extrapolation&) const = default;
};

/// Reads data/extrapolation.toml or a file of the same format strictly. Errors carry the line and the column.
[[nodiscard]] Result<Extrapolation> parse_extrapolation(const TomlInput& toml, std::string_view origin);
/// Returns the built-in data/extrapolation.toml.
[[nodiscard]] const Extrapolation& built_in_extrapolation();

/// A size outside the range that a model was fitted to.
struct SizeOutOfRange {
    std::size_t size = 0;  ///< index into size_names
    double value = 0;
    double limit = 0;  ///< the nearest measured size
};
/// Returns the extrapolated sizes of a kernel; none if the ranges are unknown.
[[nodiscard]] std::vector<SizeOutOfRange> sizes_out_of_range(const KernelFit& fit, const KernelPoint& point);

/// Returns the increase of the fit's error for all extrapolated sizes; 0 inside the ranges. Does not allocate.
[[nodiscard]] double extrapolation_error(const KernelFit& fit, const Growths& growths, const KernelPoint& point);

}  // namespace roofline::core
