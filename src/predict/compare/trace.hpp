// Every kernel of a profile beside its roofline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "machine/machine.hpp"

namespace roofline::core {

/// All launches of one kernel.
struct TracedKernel {
    std::string name;
    std::int64_t launches = 1;
    int line = 0;  ///< of the profile
    double measured_s = 0;
    std::optional<double> flops;
    std::optional<double> bytes;  ///< across the main memory
    std::optional<double> lower_s;
    std::string bound_by;  ///< "HBM"; "" without a bound
    std::string doubt;     ///< why a number is missing or too small

    [[nodiscard]] std::optional<double> intensity() const;   ///< FLOP per byte
    [[nodiscard]] std::optional<double> flop_per_s() const;  ///< achieved
    /// Of what the roofline allows: the lower bound over the measured time.
    [[nodiscard]] std::optional<double> roof_fraction() const;
};

/// The kernels of a profile beside the bounds of a machine.
struct ProfileComparison {
    std::string profile;  ///< the file's name
    std::string tool;
    Machine machine;
    std::vector<TracedKernel> kernels;  ///< those that took longest first
    std::vector<std::string> notes;
};

/// Reads a profile and bounds its kernels on one chip of the machine. `name` is its file's, for messages. Errors: text
/// that is no profile that is known, with line and column.
[[nodiscard]] Result<ProfileComparison> compare_profile(std::string_view profile, const std::string& name,
                                                        Machine machine);

}  // namespace roofline::core
