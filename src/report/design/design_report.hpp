// The answer of `roofline plan design` as text, JSON, tables and a picture.
#pragma once

#include <optional>
#include <string>

#include "predict/design/design.hpp"
#include "report/format.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

/// Returns the answer in any format; a table has a row per machine, the cheapest first. `took`: seconds of the search.
[[nodiscard]] std::string design_text(const DesignQuestion& question, const DesignAnswer& answer,
                                      std::optional<double> took, Format format);

/// Returns the front of cost against weighted time.
[[nodiscard]] std::string design_picture(const DesignQuestion& question, const DesignAnswer& answer);

/// Returns the report.
[[nodiscard]] ReportPage design_page(const DesignQuestion& question, const DesignAnswer& answer);

}  // namespace roofline::core
