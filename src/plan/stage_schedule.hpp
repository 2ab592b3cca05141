// How the stages of a pipeline take turns: how long they wait, and what they hold meanwhile.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace roofline {

/// In microbatches of one stage, forward and backward together.
struct StageSchedule {
    double waiting = 0;    ///< microbatches that a stage could do while it waits, in one step
    double in_flight = 1;  ///< microbatches whose activations the first stage holds at once
};

/// Of `stages` stages, p, and m microbatches. All but the last of these are GPipe's (arXiv 1811.06965), PipeDream-flush's and Megatron's
/// (arXiv 2104.04473, two chunks of layers a stage), and ZB-H1's (arXiv 2401.10241):
///
///     schedule      waiting      in flight
///     1f1b          p - 1        min(p, m)
///     gpipe         p - 1        m
///     interleaved   (p - 1)/2    min(p + (p - 1)/2, m)
///     zero-bubble   (p - 1)/3    min(p, m)
///
/// "" is 1f1b. Errors: no such schedule, the nearest is named.
[[nodiscard]] Result<StageSchedule> stage_schedule(std::string_view name, std::int64_t stages,
                                                   std::int64_t microbatches);

}  // namespace roofline
