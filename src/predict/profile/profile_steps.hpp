// The steps of a recorded profile, and what a device did in each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/profile/recorded_profile.hpp"

namespace roofline::core {

/// One step on one device, from the beginning of its first event to that of the next step's first event; the last one
/// ends with its last event.
struct ProfileStep {
    std::string name;  ///< "ProfilerStep#12", "jit_step"; "" if the profile has no steps
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::vector<std::uint32_t> events;  ///< indices, in the order of their starts
    bool warm_up = false;               ///< much slower than the others, which come later

    [[nodiscard]] std::int64_t duration_ns() const { return end_ns - start_ns; }
};

/// Returns the steps of a device in order. They are the ranges that torch.profiler calls ProfilerStep, with the events
/// that were launched in them; on a device of JAX the lines of steps, or the executions of the module that takes
/// longest; then ranges that are named as steps, "step 12"; otherwise everything is one step. Steps without events are
/// left out; if none has events, everything is one step, too. The first ones are warm-up where they take more than 1.2
/// times the median of the later ones, which are at least two.
[[nodiscard]] std::vector<ProfileStep> find_steps(const RecordedProfile& profile, std::int32_t device);

/// The devices that have events, in order.
[[nodiscard]] std::vector<std::int32_t> devices_of(const RecordedProfile& profile);
/// The device whose events take longest.
[[nodiscard]] std::int32_t busiest_device(const RecordedProfile& profile);

/// How the time of a step divides, in nanoseconds. What is exposed is not hidden behind kernels; all but `hidden` adds
/// up to the duration of the step.
struct StepDivision {
    std::int64_t kernels = 0;  ///< while at least one kernel that is no collective ran
    std::int64_t exposed = 0;  ///< while only collectives ran, perhaps beside copies
    std::int64_t copies = 0;   ///< while only copies and memory sets ran
    std::int64_t host = 0;     ///< nothing ran, and the next event was not launched yet
    std::int64_t queued = 0;   ///< nothing ran although the next event was launched
    std::int64_t idle = 0;     ///< nothing ran, and the launch of the next event is unknown
    std::int64_t hidden = 0;   ///< of collectives, while kernels ran

    [[nodiscard]] std::int64_t total() const { return kernels + exposed + copies + host + queued + idle; }
};

/// Divides the time of each step of a device; also events of other steps count that run in it.
[[nodiscard]] std::vector<StepDivision> divide_steps(const RecordedProfile& profile, std::int32_t device,
                                                     const std::vector<ProfileStep>& steps);

}  // namespace roofline::core
