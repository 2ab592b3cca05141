// An answer of `roofline serve` as text for people.
#pragma once

#include <string>

#include "predict/serve/serve_answer.hpp"
#include "report/page/page.hpp"
#include "report/serve/serve_words.hpp"

namespace roofline::core {

[[nodiscard]] std::string serve_text(const ServeAnswer& answer);

/// Returns the same as the sections of a page.
[[nodiscard]] ReportPage serve_sections(const ServeAnswer& answer);

}  // namespace roofline::core
