// Printed forms of an answer of `roofline hlo`.
#pragma once

#include <string>
#include <vector>

#include "predict/imported/module_answer.hpp"
#include "report/format.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

/// Returns the answers, one per machine; the text of one machine is the full report.
[[nodiscard]] std::string hlo_view(const std::vector<ModuleAnswer>& answers, Format format, bool color);

/// Returns the roofline plot with a point for each kernel that takes more than a thousandth of the time; those that
/// take longest are labelled.
[[nodiscard]] std::string hlo_plot(const ModuleAnswer& answer);

/// Returns the report; of several machines a comparison and then each of them.
[[nodiscard]] ReportPage hlo_page(const std::vector<ModuleAnswer>& answers);

}  // namespace roofline::core
