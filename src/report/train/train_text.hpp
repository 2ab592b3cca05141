// An answer of `roofline train` as text for people.
#pragma once

#include <string>

#include "predict/train/train_answer.hpp"
#include "report/page/page.hpp"
#include "report/train/train_words.hpp"

namespace roofline::core {

/// `notes` says whether the answer's notes follow.
[[nodiscard]] std::string train_text(const TrainAnswer& answer, bool notes = true);

/// Returns the same, with the notes, as the sections of a page.
[[nodiscard]] ReportPage train_sections(const TrainAnswer& answer);

}  // namespace roofline::core
