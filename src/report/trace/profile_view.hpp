// Prints what `roofline trace` says about a recorded profile.
#pragma once

#include <string>

#include "predict/profile/profile_answer.hpp"
#include "report/format.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

[[nodiscard]] std::string profile_view(const ProfileAnswer& answer, Format format, bool color);

/// The operations on the roofline, by their measured times.
[[nodiscard]] std::string profile_plot(const ProfileAnswer& answer);

/// Returns the report.
[[nodiscard]] ReportPage profile_page(const ProfileAnswer& answer);

}  // namespace roofline::core
