// Printed forms of the contents of weight files.
#pragma once

#include <string>

#include "predict/model/checkpoint_answer.hpp"
#include "report/page/page.hpp"
#include "report/table.hpp"

namespace roofline::core {

[[nodiscard]] std::string checkpoint_text(const CheckpointAnswer& answer);
/// Returns the report.
[[nodiscard]] ReportPage checkpoint_page(const CheckpointAnswer& answer);
[[nodiscard]] std::string checkpoint_json(const CheckpointAnswer& answer);
/// Returns a table with one row per part of the model, or per layer.
[[nodiscard]] Table checkpoint_table(const CheckpointAnswer& answer, bool layers);

}  // namespace roofline::core
