// A check for texts that toml++ cannot handle: it recurses once for every part of a dotted key, without a limit,
// assumes that a table's header contains a key, and has undefined behaviour for some characters in bare keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roofline::core {

/// A fault of a text, and the byte at which it was noticed.
struct TomlFault {
    std::size_t offset = 0;
    std::string code;
    std::string message;
    std::string hint;
};

/// Returns a fault if a text is too large, not UTF-8, nested deeper than any machine file needs, or has a header
/// without a name or non-ASCII characters outside of strings and comments. Empty when it is safe to parse.
[[nodiscard]] std::optional<TomlFault> toml_fault(std::string_view text);

}  // namespace roofline::core
