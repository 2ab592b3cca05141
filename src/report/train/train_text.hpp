// An answer of `roofline train` as a screen of text.
#pragma once

#include <string>

#include "report/train/train_answer.hpp"

namespace roofline {

[[nodiscard]] std::string train_text(const TrainAnswer& answer);

}  // namespace roofline
