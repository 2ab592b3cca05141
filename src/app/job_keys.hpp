// The options of a training job and of a served model as keys of a file: a key has the name of the option, and its
// value is the option's text, or a whole number.
#pragma once

#include "app/request.hpp"
#include "machine/reader.hpp"

namespace roofline::core {

/// Reads options of `roofline train`, except for the model, the slice and the output.
void read_training_keys(Reader& table, TrainRequest& request);

/// Reads options of `roofline serve`, likewise.
void read_serving_keys(Reader& table, ServeRequest& request);

}  // namespace roofline::core
