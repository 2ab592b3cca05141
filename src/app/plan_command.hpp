// The commands that price what a search found.
#pragma once

#include <string>
#include <vector>

#include "app/request.hpp"
#include "predict/train/train_answer.hpp"

namespace roofline::core {

/// Returns the command that answers with a plan alone: "roofline train MODEL" and then each option with its value,
/// quoted for a shell. It has those options of the job, which has one machine, batch, dtype and optimizer, that the
/// time, memory and cost of a plan depend on.
[[nodiscard]] std::vector<std::string> plan_command(const TrainRequest& asked, const TrainAnswer& plan);

/// The same for a set-up of a served model under a load: "roofline serve MODEL" and its options.
[[nodiscard]] std::vector<std::string> serve_command(const ServeRequest& asked);

/// Returns the request for a plan alone that was found for it.
[[nodiscard]] TrainRequest with_plan(TrainRequest job, const TrainAnswer& plan);

/// Returns the value of --mesh that stands for a plan: "tensor=8,pipeline=2"; "data=1" for one chip.
[[nodiscard]] std::string mesh_word(const Plan& plan);

}  // namespace roofline::core
