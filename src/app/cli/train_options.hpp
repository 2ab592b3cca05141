// Options of `roofline train` that another command has, too.
#pragma once

#include "app/cli/words.hpp"
#include "app/request.hpp"

namespace roofline::core::cli {

/// Adds the options about interruptions and checkpoints of a whole run, which follow --tokens.
void add_recovery(CLI::App& app, TrainRequest& train);

}  // namespace roofline::core::cli
