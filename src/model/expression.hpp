// Evaluates small expressions over the keys of a configuration, with which a key table defines dimensions, options and
// layers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"
#include "model/config.hpp"

namespace roofline::core {

/// No value: the requested key is absent or null.
struct NoValue {
    std::string key;  ///< with its path

    bool operator==(const NoValue&) const = default;
};

/// Result of an expression. Lists and tables are referenced, not copied.
using ConfigResult = std::variant<NoValue, bool, std::int64_t, double, std::string, const FileValue*>;

/// Looks up a name in an expression: the layer's number, names defined by `let`, defaults of the class, keys.
using ConfigNames = std::function<ConfigResult(std::string_view name)>;

/// Evaluates `text`. Operators from lowest to highest precedence: `a | b` is b if a is absent; `or`, `and`, `not`; ==
/// != < <= > >= and `x in list`; + -; * / // %; `list[i]` and `table.key`. For integers, / is an error if there is a
/// remainder, and // rounds down. Functions: min, max, len, count(list, x), present(key), if(condition, a, b),
/// round_up(x, multiple), floor(x). Errors: syntax; incompatible types, with the key's path; integers beyond 63 bits;
/// an index out of range.
[[nodiscard]] Result<ConfigResult> evaluate(std::string_view text, const ConfigNames& names);

/// Converts a value to the result of an expression.
[[nodiscard]] ConfigResult result_of(const FileValue& value);

/// Text for messages: "64", "'relu'".
[[nodiscard]] std::string text_of(const ConfigResult& value);

}  // namespace roofline::core
