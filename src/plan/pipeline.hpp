// Schedules of a pipeline: the bubble of its stages, and the number of micro-batches that they hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace roofline::core {

enum class Schedule {
    gpipe,        ///< all forward passes, then all backward passes (Huang et al. 2019)
    one_f_one_b,  ///< 1F1B: backward passes as early as possible (Narayanan et al. 2019)
    /// 1F1B in which each stage has several virtual stages, groups of layers that are not adjacent (Narayanan et al.
    /// 2021).
    interleaved,
    zero_bubble,  ///< 1F1B in which gradients of weights fill the bubble: ZB-H1 (Qi et al. 2023)
};

struct Pipeline {
    Schedule schedule = Schedule::one_f_one_b;
    std::int64_t stages = 1;
    std::int64_t microbatches = 1;  ///< per training step
    std::int64_t chunks = 1;        ///< virtual stages of each stage; more than one only if interleaved
    double recomputed = 0;          ///< the fraction of a forward pass that is recomputed in the backward pass

    bool operator==(const Pipeline&) const = default;
};

struct PipelineCost {
    double fill =
        0;  ///< idle time of a stage per other stage, as a fraction of that other stage's work over all micro-batches
    std::int64_t transfers = 0;  ///< of a middle stage per training step, forward and backward together

    /// Returns the fraction of the step in which a stage idles if all stages take equally long.
    [[nodiscard]] double bubble(std::int64_t stages) const;
};

/// Reads "gpipe", "1f1b", "interleaved" (two virtual stages), "interleaved:4", "zero-bubble"; stages and micro-batches
/// are left at 1. Errors: an unknown name, with the nearest one as a hint; a number of virtual stages outside of 2 to
/// 2^40.
[[nodiscard]] Result<Pipeline> parse_schedule(std::string_view word);
[[nodiscard]] std::string_view schedule_name(Schedule schedule);
/// Returns "1f1b", "interleaved:4", which parse_schedule() reads.
[[nodiscard]] std::string schedule_text(const Pipeline& pipeline);

/// Returns the cost of a schedule. With p stages, m micro-batches and v virtual stages, a stage idles while the first
/// micro-batch arrives and the last one leaves: for every other stage as long as that stage takes for one micro-batch
/// (GPipe, 1F1B), for one virtual stage of it (interleaved), or for the forward pass of one (ZB-H1, where a backward
/// pass has a part for the input and one for weights, each as long as the forward pass). If all stages take equally
/// long that is (p-1) of m+p-1 parts of a step, of vm+p-1, or of 3m+p-1. ZB-H1 idles T_F + T_B - T_W per other stage
/// (arXiv 2401.10241): recomputation precedes the gradients of the input, T_B = (1+r) T_F, and a step has 3+r parts for
/// each micro-batch, so the idle time is (1+r)/(3+r) of a micro-batch's time. Errors: numbers below 1; virtual stages
/// in a schedule that is not interleaved, or only one in one that is; interleaved micro-batches that are not a multiple
/// of the stages; ZB-H1 with fewer micro-batches than stages.
[[nodiscard]] Result<PipelineCost> pipeline_cost(const Pipeline& pipeline);

/// Returns the number of micro-batches whose activations a stage holds at a time, with all of its layers; stages count
/// from 0. GPipe holds all m; 1F1B p-i in stage i, ZB-H1 p in each, interleaved (2(p-i-1) + (v-1)p + 1)/v; no schedule
/// holds more than m. pipeline_cost() must accept the pipeline.
[[nodiscard]] double held_microbatches(const Pipeline& pipeline, std::int64_t stage);

}  // namespace roofline::core
