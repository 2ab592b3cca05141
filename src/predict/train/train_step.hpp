// A training step as a program, laid out and priced as `roofline op` does it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/step/step_law.hpp"
#include "model/model.hpp"
#include "plan/framework_memory.hpp"
#include "plan/pipeline.hpp"
#include "plan/plan.hpp"
#include "plan/training_batch.hpp"
#include "predict/train/train_answer.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// How a model is to be trained.
struct TrainSetup {
    Plan plan;
    TrainingBatch batch;
    TrainingOptions options;
    Pipeline schedule{};              ///< its stages and microbatches are those of the plan and the batch
    std::optional<Dtype> products{};  ///< in which products with parameters are computed; none: as they are stored
    std::optional<Dtype> dispatch{};  ///< in which tokens and gradients are sent to experts; none: as they are stored
    bool late_layers = false;         ///< pipeline_stages()
    bool stored_attention = false;    ///< store_attention()
    bool attention_dropout = false;   ///< likewise
    bool pytorch_kernels = false;     ///< StepParts: how a framework runs a step
    bool gradients_in_turn = false;   ///< likewise
    std::vector<std::string> overlapped{};  ///< axes whose collectives run beside products, as those of replicas do
    FrameworkHabits habits{};  ///< what else takes memory; `unfused` and `stored_casts` are those of the options
};

/// By which constants and approximations steps are priced; many may share them.
struct StepPricing {
    std::shared_ptr<Calibrations> calibrations;
    std::string software;    ///< "nccl-2.29": whose constants; "": the newest
    bool textbook = false;   ///< collectives as people approximate them by hand
    bool explained = false;  ///< also how far off each collective is
    StepLaw law{};           ///< how kernels and collectives make a step
};

/// The step of a model in that set-up on a slice. Errors: what has no derivative; a plan that the model or the slice
/// does not take.
[[nodiscard]] Result<TrainStep> train_step(const Model& model, const TrainSetup& setup, const Slice& slice,
                                           const StepPricing& pricing, std::vector<std::string>& notes);

}  // namespace roofline::core
