// JSON that remembers where each value stands, so that what is wrong with one can be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace roofline {

struct JsonNode {
    enum class Kind { null, boolean, number, text, list, object };
    Kind kind = Kind::null;
    double number = 0;  ///< of a number; 1 for true
    std::string text;
    std::vector<JsonNode> items;     ///< of a list; of an object the values of its members
    std::vector<std::string> names;  ///< of an object's members, as many as there are items
    std::size_t offset = 0;          ///< of the value's first byte in the file

    /// The member of that name; null when there is none, or this is no object.
    [[nodiscard]] const JsonNode* find(std::string_view name) const;
    [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
};

/// "a number", "a text" ...
[[nodiscard]] std::string_view kind_name(JsonNode::Kind kind);

/// Errors, with line and column: no JSON (an end in the middle is told apart, code `cut_off`), more than 64 levels of nesting, a name twice in one object, a number beyond
/// what a double holds.
[[nodiscard]] Result<JsonNode> parse_json_text(std::string_view text, const std::string& source);

}  // namespace roofline
