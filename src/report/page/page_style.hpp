// The style sheet and the script of a report, as they stand in the file.
#pragma once

#include <string_view>

namespace roofline::core {

[[nodiscard]] std::string_view page_style();
[[nodiscard]] std::string_view page_script();

/// The hash of the script by which the page's content security policy admits it, and no other: "sha256-...".
[[nodiscard]] std::string_view page_script_hash();

}  // namespace roofline::core
