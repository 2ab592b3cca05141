// The command line's dealings with the disk.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace roofline::cli {

/// The whole of a file, or of standard input for "-". Errors: missing, a directory, unreadable, beyond 256 MiB (measurement tables are the largest).
[[nodiscard]] Result<std::string> read_file(const std::string& path);

/// Writes beside the target and renames, so that the target is whole or untouched. "-" is standard output.
[[nodiscard]] Status write_file(const std::string& path, std::string_view content);

/// Writes all of it to standard output. Error: it could not take it (a full disk, a closed pipe).
[[nodiscard]] Status print(std::string_view content);

}  // namespace roofline::cli
