// Options of `roofline train` that `roofline plan train` has, too.
#pragma once

#include "app/cli/words.hpp"
#include "app/request.hpp"

namespace roofline::core::cli {

/// Returns how a search runs, with the number of threads that the option gives, by default as many as cores. Errors: no
/// number.
[[nodiscard]] Result<SearchControl> search_control(const std::string& threads);

/// Adds the model.
void add_model(CLI::App& app, Words& words);

/// Adds the tokens of a batch and of a sequence.
void add_batch(CLI::App& app, TrainRequest& train);

/// Returns the framework with its file, if it is one. Errors: those of read_file().
[[nodiscard]] Result<NamedText> load_framework(const std::string& name);

/// Adds the optimizer, the framework, and the dtypes of matmuls and dispatched tokens.
void add_arithmetic(CLI::App& app, TrainRequest& train);

/// Adds the options about a whole run, its cost and its interruptions, and those about the machine and its
/// calibration.
void add_run(CLI::App& app, Words& words, TrainRequest& train);

}  // namespace roofline::core::cli
