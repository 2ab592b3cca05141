// Schedules of a pipeline: how long its stages wait, and how many microbatches they hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace roofline::core {

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
    double recomputed = 0;          ///< which part of a forward pass the backward pass computes again
};

struct PipelineCost {
    double fill =
        0;  ///< what a stage waits for each other one, in steps of that other one: its work over all microbatches
    std::int64_t transfers = 0;  ///< that a stage in the middle sends in a step, forward and backward together

    /// Share of the step in which a stage waits, where all take equally long.
    [[nodiscard]] double bubble(std::int64_t stages) const;
};

/// "gpipe", "1f1b", "interleaved" (two chunks), "interleaved:4", "zero-bubble"; stages and microbatches are left at 1. Errors: none of
/// them, the nearest is named; chunks that are no number from 2 to 2^40.
[[nodiscard]] Result<Pipeline> parse_schedule(std::string_view word);
[[nodiscard]] std::string_view schedule_name(Schedule schedule);
/// "1f1b", "interleaved:4": as parse_schedule() reads it.
[[nodiscard]] std::string schedule_text(const Pipeline& pipeline);

/// With p stages, m microbatches and v chunks, a stage waits while the first microbatch comes and the last one leaves: for every
/// other stage as long as that takes for one microbatch (GPipe, 1F1B), one chunk of it (interleaved), or the forward pass of one
/// (ZB-H1, where a backward pass is a part for the input and one for weights, each as long as the forward pass). Of stages that take
/// equally long that is (p-1) of m+p-1 parts of a step, of vm+p-1, of 3m+p-1. ZB-H1 waits T_F + T_B - T_W for each other stage (arXiv
/// 2401.10241): what is computed again stands before the gradients of the input, T_B = (1+r) T_F, and a step has 3+r parts for each microbatch,
/// so that (1+r)/(3+r) of a microbatch's time are waited for. Errors: numbers below 1; chunks where they are not
/// interleaved, or one where they are; interleaved microbatches that are no multiple of the stages; ZB-H1 with fewer microbatches
/// than stages.
[[nodiscard]] Result<PipelineCost> pipeline_cost(const Pipeline& pipeline);

/// Microbatches whose activations a stage holds at a time, all of its layers counted; stages from 0. GPipe holds all m; 1F1B p-i in
/// stage i, ZB-H1 p in each, interleaved (2(p-i-1) + (v-1)p + 1)/v; none more than m. The pipeline is one that pipeline_cost() takes.
[[nodiscard]] double held_microbatches(const Pipeline& pipeline, std::int64_t stage);

}  // namespace roofline::core
