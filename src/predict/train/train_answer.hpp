// Everything that an answer of `roofline train` is printed from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/step/step_law.hpp"
#include "model/account.hpp"
#include "model/model.hpp"
#include "network/slice.hpp"
#include "plan/plan.hpp"
#include "plan/training_batch.hpp"
#include "plan/training_cost.hpp"
#include "plan/training_memory.hpp"
#include "plan/training_thresholds.hpp"
#include "predict/prediction.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// The three times of a step, seconds, and the one between: see docs/method/bounds.md.
struct StepTimes {
    double lower = 0;
    double sequential = 0;
    double upper = 0;
    std::optional<double> expected;
    std::optional<double> expected_error;  ///< mean, on published runs of publishers that were left out of the fit
    std::optional<StepParts> parts;        ///< of the expected time
    StepLaw law{};                         ///< that made a step of them
    double bubble = 0;  ///< the share of the upper time that the longest stage of a pipeline waits for others
};

/// A step that was laid out and priced.
struct TrainStep {
    Prediction program;       ///< on one chip; of a pipeline that of the stage that takes longest
    StepTimes times;          ///< of a pipeline with what that stage waits for the others
    TrainingMemory memory;    ///< of a pipeline that of the fullest stage
    std::string stage;        ///< which stage takes longest, "the last of 4 stages"; "" without a pipeline
    std::string fullest;      ///< which holds the most, likewise
    std::int64_t passes = 0;  ///< of layers in the stage that takes longest; 0 without a pipeline
};

struct TrainAnswer {
    Model model;
    ModelCounts counts;
    Slice slice;
    Plan plan;
    bool sequence_given = true;          ///< else it is what most models are trained on, where the context is longer
    std::optional<TrainingBatch> batch;  ///< none was given
    std::string schedule;                ///< "" without a pipeline
    TrainingOptions options;             ///< recomputation and the optimizer
    std::optional<Dtype> products;       ///< in which products with parameters are computed; none: as they are stored
    std::optional<Dtype> dispatch;  ///< in which tokens and gradients are sent to experts; none: as they are stored
    std::vector<std::string> overlapped;  ///< axes whose collectives run beside products, beside those of replicas
    TrainingDemand demand;
    std::optional<TrainStep> step;      ///< none: the utilisation is assumed, and the batch cannot be laid out as it is
    std::optional<double> assumed_mfu;  ///< of the request
    std::optional<double> step_s;       ///< that rates and cost are made of; none without a batch
    /// None of a plan that does not fit, unless the utilisation is assumed: no run has them.
    std::optional<double> mfu;
    std::optional<double> tokens_per_s;
    std::optional<TrainingCost> cost;  ///< of the tokens that are asked about
    std::vector<PlanThreshold> thresholds;
    std::vector<std::string> notes;
};

[[nodiscard]] std::optional<double> tokens_per_s_per_chip(const TrainAnswer& answer);

/// "tpu-v5p:8x8x16".
[[nodiscard]] std::string slice_id(const Slice& slice);

/// The collectives of a step by kind and axes, the longest first: how many, the bytes of all, and their time in all. Of
/// the stage that takes longest.
struct StepCollective {
    CollectiveKind kind = CollectiveKind::all_gather;
    std::vector<std::string> axes;
    double count = 0;
    double bytes = 0;
    double seconds = 0;
};
[[nodiscard]] std::vector<StepCollective> step_collectives(const TrainStep& whole);

}  // namespace roofline::core
