// Training questions and answers of the public interface that predict_training() and search_plans() share.
#pragma once

#include <string_view>

#include "predict/train/train.hpp"
#include "roofline/train.hpp"

namespace roofline {

/// Returns the question that these options ask. Errors: options that contradict one another or the model.
[[nodiscard]] Result<core::TrainQuestion> training_job(const Model& model, const System& system,
                                                       const TrainingOptions& options);

[[nodiscard]] TrainingPrediction public_training(core::TrainAnswer answer);

[[nodiscard]] core::Pipeline core_schedule(const PipelineSchedule& schedule);

[[nodiscard]] core::Remat core_remat(Recomputation recomputation);

/// Returns the name of an axis of a plan.
[[nodiscard]] std::string_view axis_name(PlanAxis axis);

}  // namespace roofline
