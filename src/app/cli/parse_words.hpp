// The call of the parser of CLI11, which throws. Where there are no exceptions another source defines it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace roofline::core::cli {

/// Parses the words of a command line, without the name of the program. Error: what `rephrased` makes of the message of
/// the parser, whose state then tells how far it came.
[[nodiscard]] Status parse_words(CLI::App& app, const std::vector<std::string>& words,
                                 const std::function<Error(std::string_view)>& rephrased);

}  // namespace roofline::core::cli
