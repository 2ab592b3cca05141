// The words of a shell script, without executing anything.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "text/source.hpp"

namespace roofline::core {

struct ShellWord {
    std::string text;
    std::size_t offset = 0;     ///< of its first byte
    bool ends_command = false;  ///< an end of line or `;`, `&`, `|`: what follows belongs to another command
    bool expands = false;       ///< it contains a variable, which only a shell can expand
};

/// Splits a text at blanks, as a shell does: quotes and backslashes are removed, continued lines joined, comments left
/// out. Variables stay as they are written. Redirections, `>` and `<`, are left out with their file. Errors, with line
/// and column: `cut_off` for a quote without an end.
[[nodiscard]] Result<std::vector<ShellWord>> shell_words(const Source& source);

}  // namespace roofline::core
