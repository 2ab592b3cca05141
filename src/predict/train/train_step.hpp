// A training step as a program that is laid out and priced in the same way as by `roofline op`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/step/step_model.hpp"
#include "model/model.hpp"
#include "plan/framework_memory.hpp"
#include "plan/pipeline.hpp"
#include "plan/plan.hpp"
#include "plan/training_batch.hpp"
#include "predict/train/train_answer.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// How a model is trained.
struct TrainSetup {
    Plan plan;
    TrainingBatch batch;
    TrainingOptions options;
    Pipeline schedule{};  ///< its numbers of stages and micro-batches are those of the plan and the batch
    /// Dtype in which matmuls with parameters are computed; empty: as they are stored.
    std::optional<Dtype> products{};
    /// Dtype in which tokens and gradients are dispatched to experts; empty: as they are stored.
    std::optional<Dtype> dispatch{};
    bool late_layers = false;        ///< see pipeline_stages()
    bool stored_attention = false;   ///< see store_attention()
    bool attention_dropout = false;  ///< likewise
    double capacity = 0;             ///< capacity factor of experts, see limit_experts(); 0: no token is dropped
    bool pytorch_kernels = false;    ///< see StepParts
    bool compiled = false;           ///< likewise
    bool gradients_in_turn = false;  ///< likewise
    /// Axes whose collectives run beside matmuls, in addition to those of replicas.
    std::vector<std::string> overlapped{};
    HeldDtypes held{};
    /// Further uses of memory, those of FSDP and ZeRO only where the plan has these (framework_memory()).
    FrameworkHabits habits{};
};

/// Calibrations and approximations that steps are priced with. Many steps may share them.
struct StepPricing {
    std::shared_ptr<Calibrations> calibrations;
    std::string software;    ///< software whose calibration is used, "nccl-2.29"; "": the newest
    bool textbook = false;   ///< approximate collectives as textbooks do
    bool explained = false;  ///< also compute the error of each collective
    StepModel step_model{};  ///< combines kernels and collectives into a step
};

/// Returns the step of a model with this set-up on a slice. Errors: an operation without a derivative; a plan that does
/// not suit the model or the slice.
[[nodiscard]] Result<TrainStep> train_step(const Model& model, const TrainSetup& setup, const Slice& slice,
                                           const StepPricing& pricing, std::vector<std::string>& notes);

}  // namespace roofline::core
