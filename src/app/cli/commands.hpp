// The commands: their words, their help, and what they ask for. To add one is to add a line to the table of commands().
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <variant>

#include "app/cli/words.hpp"
#include "app/local/local_request.hpp"
#include "app/request.hpp"

namespace roofline::core::cli {

/// What the words of a line fill in, whichever command it is.
struct Line {
    Words words;
    PlotFiles plots;
    OpRequest op;
    MachineRequest machine;
    ValidateRequest validate;
    FitRequest fit;
    ModelRequest model;
    TrainRequest train;
    ServeRequest serve;
    MeasureRequest measure;
    RunRequest run;
    ImportRequest import;
    TraceRequest trace;
    std::string shell;
    const CLI::App* app = nullptr;  ///< all commands with their words
};

/// A request, or a text that is the answer itself.
using What = std::variant<OpRequest, MachineRequest, ValidateRequest, FitRequest, ModelRequest, TrainRequest,
                          ServeRequest, ImportRequest, TraceRequest, MeasureRequest, RunRequest, std::string>;

struct Command {
    const char* name;  ///< "op", or behind the command that it belongs to, "measure import"
    const char* does;
    const char* examples;           ///< the beginning of its help
    void (*add)(CLI::App&, Line&);  ///< gives it its options
    Result<What> (*request)(
        Line&);  ///< the parsed line as a request. Errors: unreadable files, words that exclude one another
};

[[nodiscard]] std::span<const Command> commands();

/// Of `roofline measure` and `roofline run` (local_options.cpp).
extern const char measure_examples[];
extern const char run_examples[];
void add_measure(CLI::App& app, Line& line);
void add_run(CLI::App& app, Line& line);
[[nodiscard]] Result<What> measure_request(Line& line);
[[nodiscard]] Result<What> run_request(Line& line);

/// Of `roofline model` (model_options.cpp).
extern const char model_examples[];
void add_model(CLI::App& app, Line& line);
[[nodiscard]] Result<What> model_request(Line& line);

/// Of `roofline train` (train_options.cpp).
extern const char train_examples[];
void add_train(CLI::App& app, Line& line);
[[nodiscard]] Result<What> train_request(Line& line);
/// Of `roofline serve` (serve_options.cpp).
extern const char serve_examples[];
void add_serve(CLI::App& app, Line& line);
[[nodiscard]] Result<What> serve_request(Line& line);

/// Of `roofline measure import` and `roofline trace`, which read what other tools wrote (tool_options.cpp).
extern const char import_examples[];
extern const char trace_examples[];
void add_import(CLI::App& app, Line& line);
void add_trace(CLI::App& app, Line& line);
[[nodiscard]] Result<What> import_request(Line& line);
[[nodiscard]] Result<What> trace_request(Line& line);

}  // namespace roofline::core::cli
