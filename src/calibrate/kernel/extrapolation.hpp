// How far off laws of kernels are beyond the sizes that they were fitted to.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "calibrate/kernel/kernel_fit.hpp"
#include "calibrate/kernel/kernel_kinds.hpp"
#include "text/toml_node.hpp"

namespace roofline::core {

/// What is added to a law's error per doubling of the distance between a size and the nearest that was measured.
struct SizeGrowth {
    double below = 0;
    double above = 0;

    bool operator==(const SizeGrowth&) const = default;
};
using Growths = std::array<SizeGrowth, size_count>;

/// Of the classes of kernels in data/extrapolation.toml. A size that no table could tell has the greatest of its class.
struct Extrapolation {
    Growths products{};
    Growths experts{};
    Growths attention{};
    Growths others{};

    /// Of a kernel's kind as KernelKey has it.
    [[nodiscard]] const Growths& of(KernelKind kind) const;
    bool operator==(const Extrapolation&) const = default;
};

/// Reads data/extrapolation.toml or a file like it, strictly. Errors carry line and column.
[[nodiscard]] Result<Extrapolation> parse_extrapolation(const TomlInput& toml, std::string_view origin);
[[nodiscard]] const Extrapolation& built_in_extrapolation();

/// A size outside the range of those that a law was fitted to.
struct SizeBeyond {
    std::size_t size = 0;  ///< the place in size_names
    double value = 0;
    double limit = 0;  ///< the nearest that was measured
};
/// Those of a kernel; none where ranges are not known.
[[nodiscard]] std::vector<SizeBeyond> sizes_beyond(const KernelFit& fit, const KernelPoint& point);

/// What is added to the fit's error for all of them; 0 inside. Allocates nothing.
[[nodiscard]] double error_beyond(const KernelFit& fit, const Growths& growths, const KernelPoint& point);

}  // namespace roofline::core
