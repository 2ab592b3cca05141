// The costs and limits of a served model as the simulation of its server takes them.
#pragma once

#include <cstdint>

#include "calibrate/server/server_model.hpp"
#include "plan/serving_queue.hpp"
#include "predict/serve/expected_serving.hpp"

namespace roofline::core {

/// Returns the costs of a server's iterations. They refer to `passes`. `size` is that of a typical request: prompts of
/// its size have their exact time. Costs for numbers of sequences between two powers of two and
/// those of prompts between quarters of an octave are interpolated linearly. A decode step is taken as linear in the
/// context, through the times at the typical request's first and last token. Where tokens are drafted, a step yields
/// several; each takes its share of the step, as if they came one by one.
[[nodiscard]] ServingCosts serving_costs(const ExpectedServing& passes, const ServerModel& server,
                                         const RequestSize& size);

/// Returns lengths of requests of that size. Outputs vary by a tenth, because equal requests of a closed loop would end
/// together and wait for each other for ever.
[[nodiscard]] RequestLengths typical_lengths(const RequestSize& size);

/// Returns the limits of a server whose cache has room for so many tokens, in blocks of `block` tokens. Its members are
/// those of its plan.
[[nodiscard]] ServerLimits serving_limits(double tokens, std::int64_t block);

}  // namespace roofline::core
