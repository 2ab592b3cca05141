// A launch line of a framework as names with values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "import/launch/launch_table.hpp"
#include "text/source.hpp"

namespace roofline::core {

/// A name of the file with its values.
struct LaunchWord {
    std::string name;  ///< without dashes
    std::vector<std::string> values;
    Span at{};
};

/// The largest file that is read.
inline constexpr std::size_t max_launch_bytes = std::size_t{1} << 20;

/// Splits a text into the words of a shell: quotes, backslashes, continued lines and comments are read, nothing is
/// expanded. Then takes the flags: words that begin with `--`, each with the words up to the next flag or `=value`.
/// What stands before a word that ends like one of `program` in the same command is left out: the launcher's flags.
/// Errors, with line and column: `cut_off` for a quote without an end; `shell` for operators and substitutions, which
/// only a shell can execute.
[[nodiscard]] Result<std::vector<LaunchWord>> launch_flags(const Source& source,
                                                           const std::vector<std::string>& program);

/// Returns the words of a file of the table's framework. Errors: those above; `empty`, `too_large`, `not_text`.
[[nodiscard]] Result<std::vector<LaunchWord>> launch_words(std::string_view text, std::string_view name,
                                                           const LaunchTable& table);

/// Returns the framework whose file a text is, by its marks. Errors: it is none's; several could be meant.
[[nodiscard]] Result<LaunchTable> recognised_launch(std::string_view text, std::string_view name, bool trains);

}  // namespace roofline::core
