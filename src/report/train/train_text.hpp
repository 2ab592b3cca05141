// An answer of `roofline train` as text for people.
#pragma once

#include <string>

#include "predict/train/train_answer.hpp"
#include "report/train/train_words.hpp"

namespace roofline::core {

[[nodiscard]] std::string train_text(const TrainAnswer& answer);

}  // namespace roofline::core
