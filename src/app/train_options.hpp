// Parsers of the options of `roofline train` about recomputation, the optimizer, dtypes and overlap.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/request.hpp"
#include "model/lora.hpp"
#include "plan/plan.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// Returns the words between the commas of a text.
[[nodiscard]] std::vector<std::string> at_commas(std::string_view text);

/// Parses --remat (none, selective, alternate, full, Hm,O) and --optimizer (adam or sgd, followed by any of
/// moments=DTYPE, master, unfused, gradients=f32 after commas). The defaults are no recomputation, and Adam with f32
/// moments and bf16 parameters. Errors: unknown words (the hint names the nearest match).
[[nodiscard]] Result<TrainingOptions> training_options(const TrainRequest& request);

/// Parses --lora, --lora-on and --frozen-dtype; empty without --lora. Errors: one of the others without it; words that
/// are no number, names or dtype.
[[nodiscard]] Result<std::optional<LoraOptions>> lora_options(const TrainRequest& request);

/// Parses --products or --dispatch: a floating-point format of fewer than 16 bits to which training converts tensors.
/// Empty if the option is not given. Errors: any other dtype.
[[nodiscard]] Result<std::optional<Dtype>> narrow_dtype(const std::string& word, std::string_view option);

/// Parses --overlap, "expert,tensor" or "none": axes of the plan whose collectives overlap with matmuls. Errors: plans
/// have no such axis; the axis has only one member. `experts` says whether the model has any.
[[nodiscard]] Result<std::vector<std::string>> overlapped_axes(const std::string& words, const Plan& plan,
                                                               bool experts);

}  // namespace roofline::core
