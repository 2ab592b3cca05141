// The commands: their words, their help, and what they ask for. To add one is to name it at the end of this file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <tuple>
#include <variant>

#include "app/cli/words.hpp"
#include "app/local/local_request.hpp"
#include "app/request.hpp"

namespace roofline::core::cli {

/// A request of each kind.
template <class... Variants>
struct OneOfEach;
template <class... Asked, class... Local>
struct OneOfEach<std::variant<Asked...>, std::variant<Local...>> {
    using Type = std::tuple<Asked..., Local...>;
};

/// What the words of a line fill in, whichever command it is.
struct Line {
    Words words;
    PlotFiles plots;
    OneOfEach<AnyRequest, AnyLocalRequest>::Type requests;
    std::string shell;
    const CLI::App* app = nullptr;  ///< all commands with their words

    template <class Asked>
    [[nodiscard]] Asked& request() {
        return std::get<Asked>(requests);
    }
};

/// A request, or a text that is the answer itself.
using What = std::variant<AnyRequest, AnyLocalRequest, std::string>;

struct Command {
    const char* name;  ///< "op", or behind the command that it belongs to, "measure import"
    const char* does;
    const char* examples;           ///< the beginning of its help
    void (*add)(CLI::App&, Line&);  ///< gives it its options
    Result<What> (*request)(
        Line&);  ///< the parsed line as a request. Errors: unreadable files, words that exclude one another
};

/// Each stands beside its options, in `train_options.cpp` or the like.
extern const Command op_command;
extern const Command machine_command;
extern const Command model_command;
extern const Command train_command;
extern const Command serve_command;
extern const Command trace_command;
extern const Command validate_command;
extern const Command fit_command;
extern const Command measure_command;
extern const Command import_command;
extern const Command run_command;
extern const Command completion_command;

/// In the order of the help. One that belongs to another stands behind it.
inline constexpr const Command* commands[] = {
    &op_command,       &machine_command, &model_command,   &train_command,  &serve_command, &trace_command,
    &validate_command, &fit_command,     &measure_command, &import_command, &run_command,   &completion_command};

}  // namespace roofline::core::cli
