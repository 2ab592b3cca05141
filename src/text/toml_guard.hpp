// What toml++ would not survive: it recurses once for every part of a dotted key, without bound, takes for
// granted that a table's header holds a key, and has undefined behaviour for some characters in bare keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roofline::core {

/// What is wrong with a text, and the byte it was noticed at.
struct TomlFault {
    std::size_t offset = 0;
    std::string code;
    std::string message;
    std::string hint;
};

/// A text that is too large, not UTF-8, nested deeper than any machine file needs, with a header that has no name, or with
/// characters beyond ASCII outside of texts and comments. Nothing when it is safe to parse.
[[nodiscard]] std::optional<TomlFault> toml_fault(std::string_view text);

}  // namespace roofline::core
