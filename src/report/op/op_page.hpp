// The answer to `op` as a report.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.hpp"
#include "report/page/page_sources.hpp"
#include "report/page/page_writer.hpp"

namespace roofline::core {

/// Returns the report: pictures, derivation and sources beside what the text says; of several machines a comparison
/// and then each of them, of a sweep its points.
[[nodiscard]] ReportPage op_page(const std::vector<Prediction>& answers, const std::vector<SweepAxis>& axes);

/// Adds the derivation of a prediction, its measurements and the sources of its figures. `title` is that of the
/// derivation, `sources` has further figures.
void add_derivation(PageWriter& page, const Prediction& answer, const std::string& title, PageSources sources = {});

}  // namespace roofline::core
