// A simulated load of a server as text.
#pragma once

#include <string>

#include "predict/serve/serve_answer.hpp"
#include "report/page/page.hpp"

namespace roofline::core {

/// Returns "with 64 requests at a time, each followed by the next" or "with 2.5 requests/s": the load of `under_load`.
[[nodiscard]] std::string load_words(const ServeAnswer& answer);

/// Returns the lines of the answer about its simulated load, which it must have.
[[nodiscard]] std::string load_text(const ServeAnswer& answer);

/// Returns the same as a section of a page.
[[nodiscard]] ReportPage load_sections(const ServeAnswer& answer);

}  // namespace roofline::core
