// The options of a training job and of a served model as keys of a file: a key has the name of the option, and its
// value is the option's text, or a whole number.
#pragma once

#include "app/request.hpp"
#include "machine/reader.hpp"

namespace roofline::core {

/// Reads the options of `roofline train` that a step depends on, except for the model and the slice. A framework is one
/// that the program knows, or the name of a file that the caller reads.
void read_training_keys(Reader& table, TrainRequest& request);

/// Reads those about the whole run.
void read_run_keys(Reader& table, TrainRequest& request);

/// Reads the options of `roofline serve` that prefill and decode passes depend on, except for the model and the slice.
void read_serving_keys(Reader& table, ServeRequest& request);

/// Reads those about a load.
void read_load_keys(Reader& table, ServeRequest& request);

}  // namespace roofline::core
