// Predicted training: step time, memory, utilization, days and cost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "model/config.hpp"
#include "model/model.hpp"
#include "network/slice.hpp"
#include "predict/train/run_goodput.hpp"
#include "predict/train/train_answer.hpp"
#include "predict/train/train_step.hpp"

namespace roofline::core {

/// Default number of tokens of a training sequence. Models are pretrained on sequences of about this length and
/// extended to longer contexts at the end (Llama 3: arXiv 2407.21783, section 3.4.1; DeepSeek-V3, with 4,096: arXiv
/// 2412.19437, section 4.2).
inline constexpr std::int64_t training_sequence = 8192;

/// Returns a model for training on sequences of `sequence` tokens; by default the shorter of its context and
/// training_sequence. Errors: those of build_model().
[[nodiscard]] Result<Model> training_model(const Config& config, std::optional<std::int64_t> sequence);

/// A question for the training of a model on a slice.
struct TrainQuestion {
    Model model;  ///< built for the length of the training sequences
    Slice slice;
    TrainSetup setup;  ///< its batch is used only if `batch_given`
    /// What is known of it is in the set-up already, unless it is a default.
    std::optional<Framework> framework{};
    bool batch_given = true;  ///< otherwise a utilization is assumed and no step is predicted
    /// Otherwise, with an assumed utilization, a plan that cannot be laid out is not an error.
    bool plan_given = true;
    bool sequence_given = true;   ///< see TrainAnswer::sequence_given
    std::optional<double> mfu{};  ///< model FLOPs utilization, 0 to 1, that is assumed instead of a predicted one
    std::optional<std::int64_t> tokens{};        ///< of the whole training run, for days and cost
    std::optional<RecoveryQuestion> recovery{};  ///< for the goodput of that run; empty: without interruptions
    std::string software{};                      ///< software whose calibration is used, "nccl 2.29"; "": the newest
    bool textbook = false;                       ///< approximate collectives as textbooks do
    bool explained = false;                      ///< also compute the error of each collective
    std::vector<std::string> notes{};            ///< notes of the caller, which precede those of the answer
};

/// Predicts the training of a model. Errors: a batch that is missing or not divisible; a plan that does not suit the
/// model or the slice; an operation without a derivative; work that the machine has no rate for.
[[nodiscard]] Result<TrainAnswer> predict_training(TrainQuestion question,
                                                   const std::shared_ptr<Calibrations>& calibrations);

}  // namespace roofline::core
