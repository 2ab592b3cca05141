// An answer of `roofline train` as JSON (docs/reference/json.md).
#pragma once

#include <string>

#include "predict/train/train_answer.hpp"
#include "report/train/train_words.hpp"

namespace roofline::core {

[[nodiscard]] std::string train_json(const TrainAnswer& answer);

}  // namespace roofline::core
