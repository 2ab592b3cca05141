// An answer of `roofline train` as text for people.
#pragma once

#include <string>

#include "predict/train/train_answer.hpp"
#include "report/train/train_words.hpp"

namespace roofline::core {

/// `notes` says whether the answer's notes follow.
[[nodiscard]] std::string train_text(const TrainAnswer& answer, bool notes = true);

}  // namespace roofline::core
