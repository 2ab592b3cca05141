// The machine that `--on this` means: the last one that `roofline measure` wrote.
#pragma once

#include <string>

#include "base/result.hpp"

namespace roofline::core {

/// Returns the path of its file: $ROOFLINE_THIS if it is set, else roofline/this.toml in $XDG_DATA_HOME or
/// ~/.local/share. Error: there is no home folder.
[[nodiscard]] Result<std::string> this_machine_path();

/// Creates the folder of a file. Error: it cannot be created.
[[nodiscard]] Status make_folder_of(const std::string& path);

}  // namespace roofline::core
