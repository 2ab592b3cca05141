// The kernels of a profile, each with its roofline bound.
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
    std::optional<double> bytes;  ///< traffic of the main memory
    std::optional<double> lower_s;
    std::string bound_by;  ///< "HBM"; "" without a bound
    std::string doubt;     ///< why a number is missing or too low

    [[nodiscard]] std::optional<double> intensity() const;   ///< FLOP/byte
    [[nodiscard]] std::optional<double> flop_per_s() const;  ///< achieved rate
    /// Returns the lower bound over the measured time: the fraction of the roofline that was achieved.
    [[nodiscard]] std::optional<double> roof_fraction() const;
};

/// The kernels of a profile with their bounds on a machine.
struct ProfileComparison {
    std::string profile;  ///< name of the file
    std::string tool;
    Machine machine;
    std::vector<TracedKernel> kernels;  ///< those with the longest time first
    std::vector<std::string> notes;
};

/// Reads a profile and computes the bounds of its kernels on one chip of the machine. `name` is the file name for
/// messages. Errors: the text is not a profile of a supported tool, with line and column.
[[nodiscard]] Result<ProfileComparison> compare_profile(std::string_view profile, const std::string& name,
                                                        Machine machine);

}  // namespace roofline::core
