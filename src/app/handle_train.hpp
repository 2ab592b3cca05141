// `roofline train`, from request to answer.
#pragma once

#include "app/request.hpp"

namespace roofline::core {

/// Exit status 1 where the plan does not fit the memory of a chip.
[[nodiscard]] Result<Response> handle_train(const TrainRequest& request, Format format);

}  // namespace roofline::core
