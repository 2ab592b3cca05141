// The words of `roofline measure` and `roofline run`.
#pragma once

#include <CLI/CLI.hpp>
#include <variant>

#include "app/cli/options.hpp"
#include "app/cli/words.hpp"
#include "app/local/local_request.hpp"

namespace roofline::cli {

extern const char* const measure_examples;
extern const char* const run_examples;

void add_measure(CLI::App& app, MeasureRequest& measure, Words& words);
void add_run(CLI::App& app, RunRequest& run, Words& words, PlotFiles& plots);

using LocalWhat = std::variant<MeasureRequest, RunRequest>;

/// Errors: words that exclude one another, unreadable files.
[[nodiscard]] Result<LocalWhat> measure_request(MeasureRequest measure, const Words& words);
[[nodiscard]] Result<LocalWhat> run_request(RunRequest run, const Words& words, const PlotFiles& plots);

}  // namespace roofline::cli
