// An answer of `roofline model` as a screen of text.
#pragma once

#include <string>

#include "report/model/model_words.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

[[nodiscard]] std::string model_text(const ModelAnswer& answer);

/// Returns the report.
[[nodiscard]] ReportPage model_page(const ModelAnswer& answer);

}  // namespace roofline::core
