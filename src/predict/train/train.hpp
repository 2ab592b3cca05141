// What a training set-up takes: step time, memory, utilisation, days and dollars.
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
#include "predict/train/train_answer.hpp"
#include "predict/train/train_step.hpp"

namespace roofline::core {

/// Tokens of a training sequence where none are asked for. Models are trained on sequences of so many and taught longer
/// contexts at the end (Llama 3: arXiv 2407.21783, section 3.4.1; DeepSeek-V3, with 4,096: arXiv 2412.19437, section
/// 4.2).
inline constexpr std::int64_t training_sequence = 8192;

/// A model as it is trained: on sequences of so many tokens; none: of its context, or of training_sequence where that
/// is shorter. Errors: those of build_model().
[[nodiscard]] Result<Model> training_model(const Config& config, std::optional<std::int64_t> sequence);

struct TrainQuestion {
    Model model;  ///< built for the length of the training sequences
    Slice slice;
    TrainSetup setup;            ///< of the batch only what `batch_given` says
    bool batch_given = true;     ///< else a utilisation is assumed, and no step predicted
    bool plan_given = true;      ///< else a step that the plan cannot lay out is no error beside an assumed utilisation
    bool sequence_given = true;  ///< TrainAnswer::sequence_given
    std::optional<double> mfu{};           ///< model FLOPs utilisation that is assumed instead of predicted, 0 to 1
    std::optional<std::int64_t> tokens{};  ///< of the whole training: for days and dollars
    std::string software{};                ///< "nccl 2.29": whose calibration; "": the newest
    bool textbook = false;                 ///< collectives as people approximate them by hand
    bool explained = false;                ///< also the error of each collective
    std::vector<std::string> notes{};      ///< of the one who asks; the answer's begin with them
};

/// Errors: a batch that is missing or does not divide; a plan that the model or the slice does not take; what has no
/// derivative; work that the machine has no rate for.
[[nodiscard]] Result<TrainAnswer> predict_training(TrainQuestion question,
                                                   const std::shared_ptr<Calibrations>& calibrations);

}  // namespace roofline::core
