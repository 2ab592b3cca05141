// An answer of `roofline train` as JSON (docs/json.md).
#pragma once

#include <string>

#include "report/train/train_answer.hpp"

namespace roofline {

[[nodiscard]] std::string train_json(const TrainAnswer& answer);

}  // namespace roofline
