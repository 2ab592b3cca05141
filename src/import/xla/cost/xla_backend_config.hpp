// What compilers write into `backend_config`: JSON, often inside a string and escaped once or twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// Returns the backend_config of an instruction with its escapes undone, however deep: each of `\"`, `\\\"`, `\22`,
/// `\x22`, `\u0022` and `\U00000022` becomes a quotation mark. Empty if there is none.
[[nodiscard]] std::string plain_config(const XlaInstruction& instruction);

/// Returns the number of a key at any depth of a plain configuration, with or without quotation marks; nothing if the
/// key is not there or its value is no number.
[[nodiscard]] std::optional<double> config_number(std::string_view config, std::string_view key);

/// Returns the whole numbers of a list: `["1"]`, `[1,2]`; nothing if the key is not there or the value is no such list.
[[nodiscard]] std::optional<std::vector<std::int64_t>> config_numbers(std::string_view config, std::string_view key);

}  // namespace roofline::core
