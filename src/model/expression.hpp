// Small expressions over the keys of a configuration: what a key table says of a dimension, an option or a layer.
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

/// Nothing: the key that was asked for is absent or null.
struct NoValue {
    std::string key;  ///< with its path

    bool operator==(const NoValue&) const = default;
};

/// What an expression comes to. Lists and tables stay where they are.
using ConfigResult = std::variant<NoValue, bool, std::int64_t, double, std::string, const FileValue*>;

/// Names that an expression may use: the layer's number, what the table has let, defaults of the class, keys.
using ConfigNames = std::function<ConfigResult(std::string_view name)>;

/// Evaluates `text`. From loose to tight: `a | b` is b where a is absent; `or`, `and`, `not`; == != < <= > >= and `x in list`;
/// + -; * / // %; then `list[i]` and `table.key`. Whole numbers divide by / without a remainder or not at all, by // rounded
/// down. Functions: min, max, len, count(list, x), present(key), if(condition, a, b), round_up(x, multiple), floor(x).
/// Errors: syntax, kinds that do not fit with the key's path, whole numbers beyond 63 bits, an index outside of its list.
[[nodiscard]] Result<ConfigResult> evaluate(std::string_view text, const ConfigNames& names);

/// The value as an expression sees it.
[[nodiscard]] ConfigResult result_of(const FileValue& value);

/// "64", "'relu'", for messages.
[[nodiscard]] std::string text_of(const ConfigResult& value);

}  // namespace roofline::core
