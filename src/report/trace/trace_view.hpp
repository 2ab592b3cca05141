// The printed forms of what `roofline trace` answers.
#pragma once

#include <string>

#include "predict/compare/trace.hpp"
#include "report/format.hpp"

namespace roofline::core {

[[nodiscard]] std::string trace_text(const ProfileComparison& view);
[[nodiscard]] std::string trace_view(const ProfileComparison& view, Format format);

/// The machine's roofline with the kernels on it, those that took longest labelled first.
[[nodiscard]] std::string trace_plot(const ProfileComparison& view);

}  // namespace roofline::core
