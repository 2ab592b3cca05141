// Whether the user wants a measurement to end.
#pragma once

#include "base/result.hpp"

namespace roofline::core {

/// From now on an interrupt (Ctrl-C, SIGTERM) asks to stop; what goes on for a second, or a second interrupt, ends the process.
void heed_interrupts();

/// Set by an interrupt, and by request_stop(). Loops that take long look at it between samples.
[[nodiscard]] bool stop_requested();
void request_stop();

/// For tests.
void forget_stop();

/// The error that ends a measurement then: code `interrupted`; the program exits with 130.
[[nodiscard]] Error interrupted();

}  // namespace roofline::core
