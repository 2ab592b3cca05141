// What the words of `roofline train` mean: what is kept, and what the optimizer holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/request.hpp"
#include "plan/plan.hpp"
#include "program/adjoint.hpp"

namespace roofline::core {

/// Reads --remat (none, selective, alternate, full, Hm,O) and --optimizer (adam or sgd, and behind commas
/// moments=DTYPE, master, unfused, gradients=f32). Without them nothing is computed again, and Adam has f32 moments
/// beside bf16 parameters. Errors: words that mean nothing, the nearest that do.
[[nodiscard]] Result<TrainingOptions> training_options(const TrainRequest& request);

/// Reads --products or --dispatch: floats of fewer than 16 bits, which training converts tensors to on their way. None:
/// it is not given. Errors: others.
[[nodiscard]] Result<std::optional<Dtype>> narrow_dtype(const std::string& word, std::string_view option);

/// Reads --overlap, "expert,tensor": axes of the plan whose collectives run beside products. Errors: no axis of plans;
/// one that has one member.
[[nodiscard]] Result<std::vector<std::string>> overlapped_axes(const std::string& words, const Plan& plan);

}  // namespace roofline::core
