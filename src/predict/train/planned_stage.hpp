// A stage of a training step with the subscripts of its plan, and the time of a step from the times of its stages.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "layout/lay_out.hpp"
#include "model/model.hpp"
#include "plan/live_memory.hpp"
#include "plan/pipeline.hpp"
#include "plan/pipeline_stage.hpp"
#include "predict/train/train_step.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// Returns the forward pass of one micro-batch of a set-up.
[[nodiscard]] Program forward_pass_of(const Model& model, const TrainSetup& setup);

/// Returns whether that pass has experts of limited capacity, whose matmuls are not grouped ones.
[[nodiscard]] bool limits_experts(const Model& model, const TrainSetup& setup);

/// A step of one stage, or of the whole model, sharded as the plan says.
struct PlannedStage {
    TrainingProgram step;
    StayingAxes stay;
    std::vector<std::string> notes;
};

/// Returns the step of one stage of a forward pass; without a pipeline `stage` is not used. Errors: an operation
/// without a derivative; a plan that does not suit the model.
[[nodiscard]] Result<PlannedStage> planned_stage(const Program& forward, const Model& model, const TrainSetup& setup,
                                                 const PipelineStage& stage);

/// Returns the kinds of stages of a set-up, one without a pipeline. Errors: more stages than layers.
[[nodiscard]] Result<std::vector<PipelineStage>> stages_of(const Program& forward, const TrainSetup& setup);

/// Returns the number of micro-batches whose activations a stage holds.
[[nodiscard]] InFlight in_flight_of(const Pipeline& pipeline, const PipelineStage& stage);

/// Refuses zero-bubble schedules, which move gradients of weights, for models whose weights have none.
[[nodiscard]] Status check_schedule(const Model& model, Schedule schedule);

/// Returns the schedule of a set-up with its stages and micro-batches. Errors: more chunks than layers; those of
/// check_schedule().
[[nodiscard]] Result<Pipeline> pipeline_of(const Model& model, const TrainSetup& setup);

/// Returns the fraction of a forward pass's matmul time that the backward pass recomputes, for all layers on one chip.
/// It is the same for all stages because the idle time of a schedule assumes passes of equal length. Errors: an
/// operation without a derivative.
[[nodiscard]] Result<double> recomputed_share(const Model& model, const TrainSetup& setup, const Machine& machine);

/// The work of one of `count` equal stages.
struct StageWork {
    double count = 1;
    StepParts parts;
};

/// An expected time, and the work from which it follows.
struct ExpectedStep {
    double seconds = 0;
    StepParts parts;
};

/// Returns the expected time of the slowest stage, which idles `fill` of the work of each other stage and spends
/// `sends_s` on transfers between stages. No stage waits for collectives that overlap.
[[nodiscard]] ExpectedStep expected_of_stages(std::span<const StageWork> stages, double fill, double sends_s,
                                              const StepModel& step_model);

}  // namespace roofline::core
