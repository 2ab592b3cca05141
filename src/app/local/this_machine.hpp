// The machine that `--on this` means: what `roofline measure` wrote last.
#pragma once

#include <string>

#include "base/result.hpp"

namespace roofline::core {

/// $ROOFLINE_THIS where it is set, else roofline/this.toml in $XDG_DATA_HOME or ~/.local/share. Error: no home.
[[nodiscard]] Result<std::string> this_machine_path();

/// Creates the folder that a file is to stand in. Error: it cannot be made.
[[nodiscard]] Status make_folder_of(const std::string& path);

}  // namespace roofline::core
