// The words of `roofline measure import` and `roofline trace`, which read what other tools wrote.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/cli/words.hpp"
#include "app/request.hpp"

namespace roofline::cli {

extern const char* const import_examples;
extern const char* const trace_examples;

void add_import(CLI::App& app, ImportRequest& import, Words& words);

/// Errors: unreadable files, a machine that is none.
[[nodiscard]] Result<ImportRequest> import_request(ImportRequest import, const Words& words);

void add_trace(CLI::App& app, TraceRequest& trace, Words& words, PlotFiles& plots);
[[nodiscard]] Result<TraceRequest> trace_request(TraceRequest trace, const Words& words, const PlotFiles& plots);

}  // namespace roofline::cli
