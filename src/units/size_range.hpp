// Ranges of sizes: "1..512", "1..4096*2", "64..1024+64", "1,8,64".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

inline constexpr std::size_t max_range_sizes = 1'000'000;

/// Parses a range: "1..512" (every size), "1..4096*2" (each twice the last), "64..1024+64" (increments of 64) or a list
/// "1,8,64". Errors: another form, a range that runs backwards or never ends, more than a million sizes. The message of
/// an error is a predicate about the text, "runs backwards", which the caller completes; so may be its hint.
[[nodiscard]] Result<std::vector<std::int64_t>> parse_size_range(std::string_view text);

}  // namespace roofline::core
