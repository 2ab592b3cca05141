// What the words of `roofline train` mean: what is kept, and what the optimizer holds.
#pragma once

#include <string>

#include "app/request.hpp"
#include "program/adjoint.hpp"

namespace roofline {

/// Reads --remat (none, selective, full, Hm,O) and --optimizer (adam or sgd, and behind commas moments=DTYPE,
/// master, gradients=f32). Without them nothing is computed again, and Adam has f32 moments beside bf16 parameters. Errors: words that mean nothing,
/// the nearest that do.
[[nodiscard]] Result<TrainingOptions> training_options(const TrainRequest& request);

/// "selective", "keep H, O".
[[nodiscard]] std::string remat_text(const TrainingOptions& options);

/// "adam, f32 moments, no master copy".
[[nodiscard]] std::string optimizer_text(const TrainingOptions& options);

}  // namespace roofline
