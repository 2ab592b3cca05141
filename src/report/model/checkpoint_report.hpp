// The printed forms of what files of weights hold.
#pragma once

#include <string>

#include "predict/model/checkpoint_answer.hpp"
#include "report/table.hpp"

namespace roofline::core {

[[nodiscard]] std::string checkpoint_text(const CheckpointAnswer& answer);
[[nodiscard]] std::string checkpoint_json(const CheckpointAnswer& answer);
/// A line for each part, or for each layer.
[[nodiscard]] Table checkpoint_table(const CheckpointAnswer& answer, bool layers);

}  // namespace roofline::core
