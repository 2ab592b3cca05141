// The comparison of a recorded step with that of a plan, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "predict/profile/step_comparison.hpp"
#include "report/page/page_writer.hpp"

namespace roofline::core {

/// Returns the comparison as a section of an answer, without a heading.
[[nodiscard]] std::string step_comparison_text(const StepComparison& comparison);

/// Returns the comparison as a value of an answer in JSON.
[[nodiscard]] nlohmann::ordered_json step_comparison_json(const StepComparison& comparison);

/// Adds the same, with all kernels, to a page.
void add_comparison(PageWriter& page, const StepComparison& comparison);

}  // namespace roofline::core
