// Schedules of a pipeline: how long its stages wait, and how many microbatches they hold.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace roofline {

enum class Schedule {
    gpipe,        ///< all forward passes, then all backward passes (Huang et al. 2019)
    one_f_one_b,  ///< backward passes as early as they can be (Narayanan et al. 2019)
    interleaved,  ///< the same, each stage with several chunks of layers that are not neighbours (Narayanan et al. 2021)
    zero_bubble,  ///< 1F1B in which gradients of weights fill the waits: ZB-H1 (Qi et al. 2023)
};

struct Pipeline {
    Schedule schedule = Schedule::one_f_one_b;
    std::int64_t stages = 1;
    std::int64_t microbatches = 1;  ///< of a step
    std::int64_t chunks = 1;        ///< of layers in each stage; more than one only where they are interleaved
};

struct PipelineCost {
    double bubble = 0;  ///< share of the step in which a stage waits for others
    double held = 1;    ///< microbatches whose activations the fullest stage holds at a time, all of its layers counted
    std::int64_t transfers = 0;  ///< that a stage in the middle sends in a step, forward and backward together
};

/// "gpipe", "1f1b", "interleaved", "zero-bubble". Errors: none of them; the nearest is named.
[[nodiscard]] Result<Schedule> parse_schedule(std::string_view word);
[[nodiscard]] std::string_view schedule_name(Schedule schedule);

/// The formulas hold for stages that take equally long, with p stages, m microbatches and v chunks: GPipe and 1F1B wait (p-1) of
/// m+p-1 parts, interleaved (p-1) of vm+p-1; ZB-H1, where a backward pass is one part for the input and one for weights, each as
/// long as the forward pass, (p-1) of 3m+p-1. GPipe holds m microbatches; 1F1B and ZB-H1 p of them, interleaved p+(p-1)/v, and none of
/// them more than m. Errors: numbers below 1; chunks where they are not interleaved, or one where they are; interleaved
/// microbatches that are no multiple of the stages; ZB-H1 with fewer microbatches than stages.
[[nodiscard]] Result<PipelineCost> pipeline_cost(const Pipeline& pipeline);

}  // namespace roofline
