// An answer of `roofline plan fleet` as text, JSON and tables.
#pragma once

#include <string>

#include "predict/fleet/fleet.hpp"
#include "report/page/page.hpp"
#include "report/table.hpp"

namespace roofline::core {

[[nodiscard]] std::string fleet_text(const FleetAnswer& answer);
/// Returns the report.
[[nodiscard]] ReportPage fleet_page(const FleetAnswer& answer);
[[nodiscard]] std::string fleet_json(const FleetAnswer& answer);
/// Returns one row per job in SI base units, for CSV and Markdown.
[[nodiscard]] Table fleet_table(const FleetAnswer& answer);

}  // namespace roofline::core
