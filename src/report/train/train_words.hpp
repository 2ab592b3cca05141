// The words for a training set-up and what limits it.
#pragma once

#include <string>

#include "predict/train/train_answer.hpp"

namespace roofline::core {

/// "selective", "keep H, O".
[[nodiscard]] std::string remat_text(const TrainingOptions& options);

/// "adam, f32 moments, no master copy".
[[nodiscard]] std::string optimizer_text(const TrainingOptions& options);

/// "1f1b, remat full, adam with f32 moments, matmuls in fp8"
[[nodiscard]] std::string recipe_text(const TrainAnswer& answer);

/// "44.7 days", "3.2 hours", "12 s"
[[nodiscard]] std::string days_text(double seconds);

/// What limits a step, in a sentence or two.
[[nodiscard]] std::string binding_limit(const TrainAnswer& answer);

}  // namespace roofline::core
