// The answer to `train` as a report.
#pragma once

#include <string>
#include <vector>

#include "predict/train/train_answer.hpp"
#include "report/page/page_writer.hpp"

namespace roofline::core {

/// Returns the report; of several slices a comparison and then each of them.
[[nodiscard]] ReportPage train_page(const std::vector<TrainAnswer>& answers);

/// Adds what the text of a set-up says, its pictures, its derivation and its sources.
void add_training(PageWriter& page, const TrainAnswer& answer);

}  // namespace roofline::core
