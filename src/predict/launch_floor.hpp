// The least time of a kernel on a machine, for kernels that have no model of their own.
#pragma once

#include <optional>
#include <string>

#include "calibrate/collective/expected_collective.hpp"
#include "machine/machine.hpp"

namespace roofline::core {

/// What a kernel takes whatever it does: its launch, its first and its last memory access.
struct LaunchFloor {
    double seconds = 0;
    std::string source;  ///< "the launch overhead of elementwise kernels with trtllm 1.3.0rc20 on H100 SXM5 80GB"
};

/// Returns the fixed cost of the model of elementwise kernels, which do the least: of the machine's own, else of its
/// own models of norms or activations, else of the nearest calibrated machine. Models of times that include those of a
/// host do not count. Without any, it is the shortest published time of a kernel; empty for processors, which launch
/// nothing.
[[nodiscard]] std::optional<LaunchFloor> launch_floor(Calibrations& calibrations, const Machine& machine,
                                                      const std::string& software);

/// Returns the words for what such kernels are expected to take: "1.39 us per launch, the launch overhead of
/// elementwise kernels with trtllm 1.3.0rc20 on H100 SXM5 80GB".
[[nodiscard]] std::string floor_text(const LaunchFloor& floor);

}  // namespace roofline::core
