// What ran in the steps of a profile, by the operation that it belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/profile/recorded_profile.hpp"
#include "predict/profile/profile_steps.hpp"

namespace roofline::core {

/// Kernels of one name.
struct ProfiledKernels {
    std::uint32_t name = 0;
    std::int64_t launches = 0;
    std::int64_t duration_ns = 0;
};

/// All executions of an operation with the same inputs: a call of the framework with its kernels, an instruction of
/// XLA, a collective with the same message, or a kernel of which nothing more is known.
struct ProfiledOperation {
    DeviceWork work = DeviceWork::kernel;
    bool recomputed = false;               ///< the forward pass again, in the backward pass; see Recomputation
    std::uint32_t call = no_index;         ///< one of the calls
    std::uint32_t detail = no_index;       ///< what the profiler knows of it
    std::int64_t bytes = 0;                ///< of one copy, or the message of one collective
    std::int64_t count = 0;                ///< calls, or launches where no call is known
    std::int64_t duration_ns = 0;          ///< of all its kernels
    std::int64_t least_ns = 0;             ///< of the fastest execution
    std::int64_t median_ns = 0;            ///< of one execution
    std::vector<ProfiledKernels> kernels;  ///< those that take longest first

    [[nodiscard]] std::uint32_t name() const { return kernels.front().name; }
};

struct ProfiledOperations {
    std::vector<ProfiledOperation> all;   ///< those that take longest first
    std::vector<std::uint32_t> of_event;  ///< by event of the profile; no_index outside of the steps
};

/// Returns the operations of these steps, without those of warm-up.
[[nodiscard]] ProfiledOperations operations_of(const RecordedProfile& profile, const std::vector<ProfileStep>& steps);

}  // namespace roofline::core
