// Plans of training jobs from the launch of a framework, and as one: --plan-from and --emit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/request.hpp"
#include "import/launch/training_launch.hpp"
#include "predict/train/train_answer.hpp"

namespace roofline::core {

/// Returns the request for its first machine with the options that its file of a launch says, and adds notes about
/// that file. Errors: those of LaunchValues::read() and training_launch(); an option of the request that says something
/// else; a length of sequences that neither says.
[[nodiscard]] Result<TrainRequest> with_training_launch(TrainRequest request, std::vector<std::string>& notes);

/// Returns the launch of an answer's plan in that framework. Errors: no such framework, or one that serves.
[[nodiscard]] Result<EmittedLaunch> emitted_training(std::string_view framework, const TrainAnswer& answer);

/// Returns the table of the framework that a file is for: the named one, or the one that its text is recognised as.
[[nodiscard]] Result<LaunchTable> table_of_file(const LaunchFile& file, bool trains);

}  // namespace roofline::core
