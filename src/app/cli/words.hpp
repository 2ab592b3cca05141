// What all commands read alike: machines, calibrations, programs, formats and plots.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/options.hpp"
#include "app/request.hpp"
#include "base/result.hpp"

namespace roofline::core::cli {

/// Words of the line after CLI11's pattern.
struct Words {
    std::vector<std::string> calibrations;
    std::vector<std::string> tables;
    std::string program;
    std::string model;
    std::string quantisation;
    std::vector<std::string> on;
    std::vector<std::string> names;
    bool json = false;
    bool csv = false;
    bool markdown = false;
    std::string plot;
    std::string table;
    std::string max_error;
    std::string mfu;
    std::string color = "auto";
    std::string part;
    std::string base;
    bool quick = false;
    bool thorough = false;
};

/// An option that may be given several times.
void repeated(CLI::App& app, const std::string& name, std::vector<std::string>& target, const std::string& help,
              const std::string& value);
void add_formats(CLI::App& app, Words& words);
void add_calibration(CLI::App& app, Words& words);
void add_plots(CLI::App& app, PlotFiles& plots, const std::string& what);

[[nodiscard]] Result<CalibrationRef> load_calibrations(const std::vector<std::string>& names);
[[nodiscard]] Result<std::vector<MachineRef>> load_machines(const std::vector<std::string>& names);
/// A configuration: a file, standard input for "-", or the name of a model that the program knows,
/// "meta-llama/Llama-3.1-70B" too.
[[nodiscard]] Result<NamedText> load_model(const std::string& word);
/// A program in the notation has a bracket; anything else names a file.
[[nodiscard]] Status load_program(const std::string& word, OpRequest& op);

/// The day, "2026-01-31".
[[nodiscard]] std::string today();
/// A fraction: "10%" or "0.1". `what` begins the message about anything else, `remedy` is its remedy.
[[nodiscard]] Result<double> parse_fraction(std::string_view text, std::string_view what, std::string_view remedy);
[[nodiscard]] bool color_wanted(const std::string& when);
/// How wide text on standard output may be: what COLUMNS says, or the terminal. None where neither does, or where it is
/// too narrow to be meant.
[[nodiscard]] std::optional<std::size_t> columns_wanted();
[[nodiscard]] Result<Format> format_of(const Words& words);
[[nodiscard]] Status check_plots(const Words& words, const PlotFiles& files);
[[nodiscard]] Result<PlotKind> plot_kind(const std::string& word);

}  // namespace roofline::core::cli
