// What toml++ would not survive: it recurses once for every part of a dotted key, without bound, and asserts that a table's
// header holds a key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roofline {

/// What is wrong with a text, and the byte it was noticed at.
struct TomlFault {
    std::size_t offset = 0;
    std::string code;
    std::string message;
    std::string hint;
};

/// A text that is too large, not UTF-8, nested deeper than any machine file needs, or with a header that has no name. Nothing when it is safe to parse.
[[nodiscard]] std::optional<TomlFault> toml_fault(std::string_view text);

}  // namespace roofline
