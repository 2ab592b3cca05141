// The costs and limits of a served model as the simulation of its server takes them.
#pragma once

#include <cstdint>

#include "calibrate/server/server_model.hpp"
#include "plan/serving_queue.hpp"
#include "predict/serve/expected_serving.hpp"

namespace roofline::core {

/// Returns the costs of a server's iterations. They refer to `passes`. `size` is that of a typical request: prompts of
/// its size have their exact time. Costs for numbers of sequences between two powers of two, up to `max_sequences`, and
/// those of prompts between quarters of an octave are interpolated linearly. A decode step is taken as linear in the
/// context, through the times at the typical request's first and last token.
[[nodiscard]] ServingCosts serving_costs(const ExpectedServing& passes, const ServerModel& server,
                                         const RequestSize& size, std::int64_t max_sequences);

/// Returns a closed loop of `requests` requests at a time, and as in server benchmarks each is followed by nine more.
/// Their outputs vary by a tenth, because equal requests would end together and wait for each other for ever.
[[nodiscard]] ServingLoad serving_load(const RequestSize& size, double requests);

/// Returns the limits of a server that holds `room` requests of that size.
[[nodiscard]] ServerLimits serving_limits(const RequestSize& size, double room);

}  // namespace roofline::core
