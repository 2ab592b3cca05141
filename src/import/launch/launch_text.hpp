// A launch line or a configuration of a framework as names with values, whatever its form.
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
    std::string name;  ///< without dashes; of nested keys "parallelism.tensor_degree"
    std::vector<std::string> values;
    Span at{};
    bool flag = true;  ///< of a command; otherwise a key of a file, or of a word `key=value`
};

/// The largest file that is read.
inline constexpr std::size_t max_launch_bytes = std::size_t{1} << 20;

/// Splits a text into the words of a shell: quotes, backslashes, continued lines and comments are read, nothing is
/// expanded. Then takes the flags: words that begin with `--`, each with the words up to the next flag or `=value`.
/// What stands before a word that ends like one of `program` in the same command is left out: the launcher's flags.
/// Errors, with line and column: `cut_off` for a quote without an end; `shell` for operators and substitutions, which
/// only a shell can execute. With `assigns` words such as `key=value` are settings, too.
[[nodiscard]] Result<std::vector<LaunchWord>> launch_flags(const Source& source,
                                                           const std::vector<std::string>& program,
                                                           bool assigns = false);

/// The leaves of a nested configuration. Errors: those of its form; `no_configuration` for a file without keys. A list
/// of anything but scalars has values "[..]".
[[nodiscard]] Result<std::vector<LaunchWord>> launch_keys(const Source& source, std::string_view name, LaunchForm form);

/// Returns the words of a file of the table's framework. Errors: those above; `empty`, `too_large`, `not_text`.
[[nodiscard]] Result<std::vector<LaunchWord>> launch_words(std::string_view text, std::string_view name,
                                                           const LaunchTable& table);

/// Returns the framework whose file a text is, by its marks. Errors: it is none's; several could be meant.
[[nodiscard]] Result<LaunchTable> recognised_launch(std::string_view text, std::string_view name, bool trains);

}  // namespace roofline::core
