// Texts about a training setup and its bottleneck.
#pragma once

#include <string>

#include "predict/train/train_answer.hpp"

namespace roofline::core {

/// Returns "selective" or "keep H, O".
[[nodiscard]] std::string remat_text(const TrainingOptions& options);

/// Returns "adam, f32 moments, no master copy".
[[nodiscard]] std::string optimizer_text(const TrainingOptions& options);

/// The same, with gradients as the framework stores them.
[[nodiscard]] std::string optimizer_text(const TrainAnswer& answer);

/// Returns "1f1b, remat full, adam with f32 moments, matmuls in fp8".
[[nodiscard]] std::string recipe_text(const TrainAnswer& answer);

/// Returns "44.6 M parameters are trained: LoRA of rank 16 on q_proj, v_proj, frozen weights in fp8"; "" if all are.
[[nodiscard]] std::string trained_text(const TrainAnswer& answer);

/// Returns "44.7 days", "3.2 hours" or "12 s".
[[nodiscard]] std::string days_text(double seconds);

/// Returns one or two sentences on the bottleneck of a step.
[[nodiscard]] std::string binding_limit(const TrainAnswer& answer);

}  // namespace roofline::core
