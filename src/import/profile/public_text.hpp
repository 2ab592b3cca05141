// Texts of a profile as they may be shown to others: without the folders of the machine that it was recorded on, which
// may show who recorded it.
#pragma once

#include <string>
#include <string_view>

namespace roofline::core {

/// A path, perhaps with a line after it, as it is shown: relative to the folder of Python's packages if it is in one,
/// else its last two parts, of which the first is left out where it can be the home of a user:
/// "/usr/lib/python3/site-packages/flax/linen/linear.py:259" is "flax/linen/linear.py:259",
/// "/home/alice/run/train.py:4" is "run/train.py:4", and "/home/alice/train.py:4" is "train.py:4".
[[nodiscard]] std::string public_path(std::string_view path);

/// A text in which every path from the root is shown so.
[[nodiscard]] std::string without_paths(std::string_view text);

}  // namespace roofline::core
