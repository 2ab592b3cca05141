// Completion of commands, options and machines for shells, made from the same tables that the words are parsed with.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace roofline::core::cli {

/// The script for bash, zsh or fish. `machines` are what --on can name. Error: another shell.
[[nodiscard]] Result<std::string> completion_script(const CLI::App& app, const std::string& shell,
                                                    const std::vector<std::string>& machines);

}  // namespace roofline::core::cli
