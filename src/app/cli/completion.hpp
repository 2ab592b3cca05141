// Shell completion of commands, options and machines, generated from the tables of the parser.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace roofline::core::cli {

/// Returns the script for bash, zsh or fish. `machines` lists the values of --on. Error: an unsupported shell.
[[nodiscard]] Result<std::string> completion_script(const CLI::App& app, const std::string& shell,
                                                    const std::vector<std::string>& machines);

}  // namespace roofline::core::cli
