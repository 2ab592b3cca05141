// What `roofline trace` answers: every kernel of a profile against its roofline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "report/format.hpp"

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

struct TraceView {
    std::string profile;  ///< the file's name
    std::string tool;
    Machine machine;
    std::vector<TracedKernel> kernels;  ///< those that took longest first
    std::vector<std::string> notes;
};

[[nodiscard]] std::string trace_text(const TraceView& view);
[[nodiscard]] std::string trace_view(const TraceView& view, Format format);

/// The machine's roofline with the kernels on it, those that took longest labelled first.
[[nodiscard]] std::string trace_plot(const TraceView& view);

}  // namespace roofline::core
