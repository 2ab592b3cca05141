// The answer to `op` as text for people.
#pragma once

#include <string>

#include "predict/prediction.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

/// Returns one screen of text with the answer first. Colour never carries information of its own.
[[nodiscard]] std::string op_text(const Prediction& answer, bool color);

/// Returns the same as the sections of a page.
[[nodiscard]] ReportPage op_sections(const Prediction& answer);

}  // namespace roofline::core
