// Options that several commands share: machines, calibrations, programs, formats and plots.
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
#include "import/weight_files.hpp"

namespace roofline::core::cli {

/// Values of options as strings, as CLI11 has stored them.
struct Words {
    std::vector<std::string> calibrations;
    std::string threads;  ///< "8"; "": as many as cores
    std::vector<std::string> tables;
    std::string program;
    std::string model;
    std::string lengths;
    std::string routing;
    std::string prefill;
    std::string draft_model;
    std::string quantisation;
    std::vector<std::string> on;
    std::vector<std::string> names;
    bool json = false;
    bool csv = false;
    bool markdown = false;
    std::string plot;
    std::string table;
    std::string profile;
    std::string max_error;
    std::string mfu;
    std::string color = "auto";
    std::string part;
    std::string plan_from;
    std::string base;
    bool quick = false;
    bool thorough = false;
};

/// Adds an option that may be given several times.
void repeated(CLI::App& app, const std::string& name, std::vector<std::string>& target, const std::string& help,
              const std::string& value);
/// Adds --sweep of a command about a model; `sizes` are the names of those that it sweeps: "batch-tokens and seq".
void add_sweeps(CLI::App& app, std::vector<std::string>& sweeps, const std::string& sizes);
void add_formats(CLI::App& app, Words& words);
void add_calibration(CLI::App& app, Words& words);
/// Frameworks that train models, and those that serve them.
inline constexpr const char* trained_by = "megatron|torchtitan|maxtext|deepspeed";
inline constexpr const char* served_by = "vllm|sglang|trtllm";
void add_emit(CLI::App& app, std::string& framework, const std::string& frameworks);
void add_plan_from(CLI::App& app, Words& words);
/// Loads the file of --plan-from, before which a framework's name may stand: "megatron:run.sh". Empty without it.
[[nodiscard]] Result<std::optional<LaunchFile>> load_launch(const std::string& word);
/// Adds --svg, --png and --html.
void add_plots(CLI::App& app, PlotFiles& plots, const std::string& what);
void add_page(CLI::App& app, PlotFiles& plots);

[[nodiscard]] Result<CalibrationRef> load_calibrations(const std::vector<std::string>& names);
[[nodiscard]] Result<std::vector<MachineRef>> load_machines(const std::vector<std::string>& names);
/// Reads the header of a file of weights.
[[nodiscard]] Result<WeightFile> load_head(const std::string& path);
/// Loads a configuration: from a file (of a .gguf file what its keys say), from standard input for "-", or for the name
/// of a known model, which may include its publisher, "meta-llama/Llama-3.1-70B".
[[nodiscard]] Result<NamedText> load_model(const std::string& word);
/// Loads a program. A word with a bracket is a program in the notation, any other the name of a file.
[[nodiscard]] Status load_program(const std::string& word, OpRequest& op);

/// Returns today's date: "2026-01-31".
[[nodiscard]] std::string today();
/// Parses a fraction: "10%" or "0.1". `what` is the beginning of the error message, `remedy` is its hint.
[[nodiscard]] Result<double> parse_fraction(std::string_view text, std::string_view what, std::string_view remedy);
[[nodiscard]] bool color_wanted(const std::string& when);
/// Returns the width available for text on standard output: COLUMNS, or the width of the terminal. Empty if neither is
/// known or the value is implausibly small.
[[nodiscard]] std::optional<std::size_t> columns_wanted();
[[nodiscard]] Result<Format> format_of(const Words& words);
[[nodiscard]] Status check_plots(const Words& words, const PlotFiles& files);
[[nodiscard]] Result<PlotKind> plot_kind(const std::string& word);
[[nodiscard]] Result<ValidationPlot> validation_plot_kind(const std::string& word);

}  // namespace roofline::core::cli
