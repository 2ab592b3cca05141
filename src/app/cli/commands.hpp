// The commands of the program: their options, their help, and the requests that they create. A new command is added to
// the table at the end of this file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <tuple>
#include <variant>

#include "app/cli/words.hpp"
#include "app/local/local_request.hpp"
#include "app/request.hpp"

namespace roofline::core::cli {

/// An optional request of each kind.
template <class... Variants>
struct OptionalOfEach;
template <class... Asked, class... Local>
struct OptionalOfEach<std::variant<Asked...>, std::variant<Local...>> {
    using Type = std::tuple<Asked..., Local...>;
};

/// Storage for the parsed options of a command line, whichever command it has.
struct Line {
    Words words;
    PlotFiles plots;
    OptionalOfEach<AnyRequest, AnyLocalRequest>::Type requests;
    std::string shell;
    const CLI::App* app = nullptr;  ///< the parser with all commands and options

    template <class Asked>
    [[nodiscard]] Asked& request() {
        return std::get<Asked>(requests);
    }
};

/// A request, or a text that is the answer.
using What = std::variant<AnyRequest, AnyLocalRequest, std::string>;

struct Command {
    const char* name;  ///< "op", or for a subcommand its full path, "measure import"
    const char* does;
    const char* examples;           ///< printed at the beginning of its help
    void (*add)(CLI::App&, Line&);  ///< adds its options to the parser
    /// Converts the parsed line to a request. Errors: unreadable files, options that exclude one another.
    Result<What> (*request)(Line&);
};

/// Each command is defined next to its options, in `train_options.cpp` and so on.
extern const Command op_command;
extern const Command machine_command;
extern const Command model_command;
extern const Command train_command;
extern const Command plan_command;
extern const Command plan_train_command;
extern const Command plan_serve_command;
extern const Command plan_fleet_command;
extern const Command plan_design_command;
extern const Command serve_command;
extern const Command hlo_command;
extern const Command trace_command;
extern const Command validate_command;
extern const Command fit_command;
extern const Command measure_command;
extern const Command import_command;
extern const Command run_command;
extern const Command page_command;
extern const Command completion_command;

/// All commands in the order of the help. A subcommand follows its parent.
inline constexpr const Command* commands[] = {
    &op_command,         &machine_command,    &model_command,      &train_command,       &plan_command,
    &plan_train_command, &plan_serve_command, &plan_fleet_command, &plan_design_command, &serve_command,
    &hlo_command,        &trace_command,      &validate_command,   &fit_command,         &measure_command,
    &import_command,     &run_command,        &page_command,       &completion_command};

}  // namespace roofline::core::cli
