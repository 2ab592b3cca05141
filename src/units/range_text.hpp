// The parts of a written range, whatever its values are: `1..4096*2`, `2TB/s..8TB/s+1TB/s`, `1,8,64`.
#pragma once

#include <string_view>
#include <vector>

namespace roofline::core {

struct RangeText {
    std::vector<std::string_view> items;  ///< of a list, at least one; none of a range
    std::string_view from{};
    std::string_view to{};
    char increment = 0;     ///< '*' or '+'; 0: none is written
    std::string_view by{};  ///< what follows it
};

/// Returns the parts, without white space around them. A `*` at the very beginning of the end belongs to it, as does
/// the sign of an exponent, `1e+9`.
[[nodiscard]] RangeText split_range(std::string_view text);

}  // namespace roofline::core
