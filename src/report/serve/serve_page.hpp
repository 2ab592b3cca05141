// The answer to `serve` as a report.
#pragma once

#include <vector>

#include "predict/serve/serve_answer.hpp"
#include "report/page/page_writer.hpp"

namespace roofline::core {

/// Returns the report; of several slices a comparison and then each of them.
[[nodiscard]] ReportPage serve_page(const std::vector<ServeAnswer>& answers);

/// Adds what the text of a set-up says, its pictures, its derivation and its sources.
void add_serving(PageWriter& page, const ServeAnswer& answer);

}  // namespace roofline::core
