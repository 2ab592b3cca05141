// Lets the user interrupt a measurement.
#pragma once

#include "base/result.hpp"

namespace roofline::core {

/// Installs handlers: the first interrupt (Ctrl-C, SIGTERM) requests a stop; work that continues for a second, or a
/// second interrupt, ends the process. `report` is whether a process that ends so says that it was interrupted: a rank
/// that its launcher stops because another one failed does not, since that one has said what was wrong.
void handle_interrupts(bool report);

/// The same for work that checks often and has an answer when it is stopped: the first interrupt requests a stop, and
/// only a second one ends the process.
void handle_interrupts_of_search();

/// Set by an interrupt and by request_stop(). Long loops check it between samples.
[[nodiscard]] bool stop_requested();
void request_stop();

/// For tests.
void reset_stop();

/// The error with which an interrupted measurement ends: code `interrupted`; the program exits with 130.
[[nodiscard]] Error interrupted();

}  // namespace roofline::core
