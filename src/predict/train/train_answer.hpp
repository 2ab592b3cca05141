// The answer of `roofline train`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/step/step_model.hpp"
#include "import/trainers.hpp"
#include "model/account.hpp"
#include "model/model.hpp"
#include "network/slice.hpp"
#include "plan/emitted_launch.hpp"
#include "plan/framework_memory.hpp"
#include "plan/goodput.hpp"
#include "plan/plan.hpp"
#include "plan/training_batch.hpp"
#include "plan/training_cost.hpp"
#include "plan/training_memory.hpp"
#include "plan/training_thresholds.hpp"
#include "predict/prediction.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// The times of a step in seconds: see docs/method/bounds.md.
struct StepTimes {
    double lower = 0;
    double sequential = 0;
    double upper = 0;
    std::optional<double> expected;
    /// Held-out mean error, on published runs of publishers that were left out of the fit.
    std::optional<double> expected_error;
    std::optional<StepParts> parts;  ///< from which the expected time was computed
    StepModel step_model{};          ///< model that combined them
    double bubble = 0;               ///< fraction of the no-overlap time that the slowest stage of a pipeline is idle
};

/// A step that was laid out and priced.
struct TrainStep {
    Prediction program;       ///< of one chip; in a pipeline of the slowest stage
    StepTimes times;          ///< in a pipeline including the idle time of that stage
    TrainingMemory memory;    ///< in a pipeline of the stage with the highest memory use
    std::string stage;        ///< the slowest stage: "the last of 4 stages"; "" without a pipeline
    std::string fullest;      ///< the stage with the highest memory use, likewise
    std::int64_t passes = 0;  ///< passes over layers in the slowest stage; 0 without a pipeline
};

struct TrainSearch;

/// The predicted training of a model on a slice.
struct TrainAnswer {
    Model model;
    ModelCounts counts;
    Slice slice;
    Plan plan;
    bool sequence_given = true;          ///< otherwise it is training_sequence if the context is longer
    std::optional<TrainingBatch> batch;  ///< empty if none was given
    std::string schedule;                ///< "" without a pipeline
    TrainingOptions options;             ///< recomputation and the optimizer
    std::optional<Dtype> products;  ///< dtype in which matmuls with parameters are computed; empty: as they are stored
    /// Dtype in which tokens and gradients are dispatched to experts; empty: as they are stored.
    std::optional<Dtype> dispatch;
    /// Axes whose collectives run beside matmuls, in addition to those of replicas.
    std::vector<std::string> overlapped;
    HeldDtypes held;  ///< tensors that the framework stores in f32
    /// The framework that was named, or whose times these are; empty for machines without one.
    std::optional<Framework> framework;
    std::optional<double> reported_bytes;  ///< memory of a chip as that framework's figures count it
    TrainingDemand demand;
    std::optional<TrainStep> step;      ///< empty if the utilization is assumed and the batch cannot be laid out
    std::optional<double> assumed_mfu;  ///< of the request
    std::optional<double> step_s;       ///< the time that rates and cost are computed from; empty without a batch
    /// Empty for a plan that does not fit unless the utilization is assumed, because such a run cannot take place.
    std::optional<double> mfu;
    std::optional<double> tokens_per_s;
    std::optional<TrainingCost> cost;  ///< of the requested number of tokens, without interruptions
    std::optional<Goodput> goodput;    ///< of that run with interruptions, if their rate is known
    std::vector<PlanThreshold> thresholds;
    std::vector<std::string> notes;
    std::shared_ptr<const TrainSearch> search{};  ///< that found the plan; null if the plan was given
    std::optional<EmittedLaunch> emitted{};       ///< the plan as a framework's launch, if that was asked for
};

/// The search for the plan of an answer.
struct TrainSearch {
    std::vector<TrainAnswer> plans;  ///< the fastest one of each set of degrees, the answer first; none if nothing fits
    std::int64_t searched = 0;       ///< plans that were looked at
    std::optional<double> seconds{};
    bool stopped = false;  ///< it was interrupted before all plans were looked at
};

/// Returns the time of a step: the expected one, or the lower bound where nothing is calibrated. There must be a step.
[[nodiscard]] double step_seconds(const TrainAnswer& answer);

/// Returns "nemo 25.11, as since 25.09", or of a default its name.
[[nodiscard]] std::string framework_text(const Framework& framework);

/// Returns the tokens per second and chip. Empty if no step time is known.
[[nodiscard]] std::optional<double> tokens_per_s_per_chip(const TrainAnswer& answer);

/// Returns the id of a slice: "tpu-v5p:8x8x16".
[[nodiscard]] std::string slice_id(const Slice& slice);

/// The collectives of a step of one kind over the same axes: their number, total bytes and total time at the lower
/// bound.
struct StepCollective {
    CollectiveKind kind = CollectiveKind::all_gather;
    std::vector<std::string> axes;
    double count = 0;
    double bytes = 0;
    double seconds = 0;
};
/// Returns the collectives of a program of one chip, those with the longest total time first.
[[nodiscard]] std::vector<StepCollective> collectives_in(const Prediction& step);

/// Returns the collectives of a step, of the slowest stage in a pipeline, those with the longest total time first.
[[nodiscard]] std::vector<StepCollective> step_collectives(const TrainStep& whole);

}  // namespace roofline::core
