// The words for a served model's set-up, its notes, and its frontier as a table.
#pragma once

#include <string>
#include <vector>

#include "predict/serve/serve_answer.hpp"
#include "report/table.hpp"

namespace roofline::core {

/// "tpu-v5e:4x4"
[[nodiscard]] std::string slice_name(const ServeAnswer& answer);

/// How weights and caches lie, in words.
[[nodiscard]] std::string split_text(const ServeAnswer& answer);

[[nodiscard]] std::vector<std::string> serve_notes(const ServeAnswer& answer);

/// The frontier, a line for each batch size: for CSV and Markdown.
[[nodiscard]] Table frontier_table(const ServeAnswer& answer);

}  // namespace roofline::core
