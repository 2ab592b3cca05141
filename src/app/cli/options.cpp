#include "app/cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>

#include "app/cli/commands.hpp"
#include "app/cli/parse_words.hpp"
#include "app/cli/words.hpp"
#include "report/narrow.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* examples = R"(examples:
  roofline op 'bf16[B, D] * bf16[D, F] -> bf16[B, F]' --dims B=256,D=8k,F=8k --on tpu-v5e
  roofline op 'bf16[B, D] * int8[D, F] -> bf16[B, F]' --dims B=64,D=8192,F=8192 --on h100-sxm --explain
  roofline op mlp.roof --on tpu-v5e --on h200 --md
  roofline op mlp.roof --on h100-sxm --sweep 'B=1..4096*2' --png roofline.png
  roofline op mlp.roof --on h100-sxm --set 'hbm.bandwidth=*2' --json
  roofline machine                     all machines
  roofline machine h100-sxm            one, every figure with its source
  roofline machine tpu-v5e h200 my.toml   side by side
  roofline model config.json           parameters, FLOPs and memory of a Transformer
  roofline trace kernels.csv --on h100-sxm --svg roofline.svg   profiled kernels against their roofs
  roofline measure cpu                 measure this machine's roofs, for `--on this`
  roofline run mlp.roof --dims B=64    run here and compared with the prediction
  roofline validate all_reduce.csv     predictions compared with measurements
  roofline fit all_reduce.csv -o .     models of expected times from measurements
  roofline measure import roofline.csv --base mi300x -o my.toml   measurements of another tool
)";

constexpr const char* exits = R"(
Exit status: 0 success; 1 nothing fits, a check failed, or a file could not be written; 2 invalid request or input;
3 the hardware, or a library for it, is missing; 130 interrupted.
Text is as wide as COLUMNS or the terminal; NO_COLOR turns colors off.
)";

// Returns the full path of a command: "roofline measure import".
std::string path_of(const CLI::App& command) {
    const CLI::App* parent = command.get_parent();
    return parent == nullptr ? "roofline" : fmt::format("{} {}", path_of(*parent), command.get_name());
}

// Finds a command by its name, which for a subcommand includes that of its parent.
CLI::App* find_command(CLI::App& app, std::string_view name) {
    const std::size_t space = name.find(' ');
    CLI::App* first = app.get_subcommand(std::string(name.substr(0, space)));
    return space == std::string_view::npos ? first : find_command(*first, name.substr(space + 1));
}

CLI::App* make_command(CLI::App& app, std::string_view name, const char* does) {
    const std::size_t space = name.rfind(' ');
    CLI::App* parent = space == std::string_view::npos ? &app : find_command(app, name.substr(0, space));
    return parent->add_subcommand(std::string(name.substr(space == std::string_view::npos ? 0 : space + 1)), does);
}

// Returns "measure" for "measure import".
std::string_view first_word(std::string_view name) { return name.substr(0, name.find(' ')); }

// Whether the options of a command can matter for this command line. Options of other commands than the first one do
// not, and creating all of them takes as long as many an answer. Completion needs all of them, and so does the help for
// a line that does not begin with a command.
bool is_relevant(const Command& command, const std::vector<std::string>& arguments) {
    const std::string_view begins = arguments.empty() ? std::string_view() : arguments.front();
    const bool known = std::any_of(std::begin(commands), std::end(commands),
                                   [&](const Command* each) { return first_word(each->name) == begins; });
    return !known || begins == "completion" || first_word(command.name) == begins;
}

// How CLI11 treats an option that repeated() has added and that is given twice.
constexpr auto repeats = CLI::MultiOptionPolicy::TakeAll;

// Rephrases an error of CLI11 and suggests the nearest option or command if one was mistyped.
Error usage_error(const CLI::App& app, std::string_view problem, const std::vector<std::string>& arguments) {
    const CLI::App* command = &app;
    while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
    Error error{"usage", std::string(problem), "", {}};
    while (!error.message.empty() && (error.message.back() == '\n' || error.message.back() == '.'))
        error.message.pop_back();
    error.hint = fmt::format("see {} --help", path_of(*command));
    if (command == &app && !arguments.empty() && !arguments.front().starts_with("-")) {
        std::vector<std::string> commands;
        for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
            commands.push_back(sub->get_name());
        error.message = fmt::format("no command `{}`", arguments.front());
        error.hint = did_you_mean(arguments.front(), commands, error.hint);
        return error;
    }
    std::vector<std::string> known;
    for (const CLI::Option* option : command->get_options()) {
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    for (const std::string& word : arguments) {
        const std::string name = word.substr(0, word.find('='));
        if (word.starts_with("--") && std::find(known.begin(), known.end(), name) == known.end()) {
            error.message = fmt::format("no option `{}`", name);
            error.hint = did_you_mean(name, known, error.hint);
            break;
        }
    }
    return error;
}

// Returns the help of the command that the line begins with, or of the whole program.
std::string help_text(CLI::App& app, const std::vector<std::string>& arguments) {
    const std::string line = fmt::format("{} ", fmt::join(arguments, " "));
    const Command* wanted = nullptr;
    for (const Command* command : commands) {
        // Longer names come later in the table.
        if (line.starts_with(std::string(command->name) + " ")) wanted = command;
    }
    if (wanted == nullptr) return fmt::format("{}\n{}{}", examples, app.help(), exits);
    const CLI::App* command = find_command(app, wanted->name);
    return wanted->examples + command->help(path_of(*command->get_parent()));
}

// Creates the request of the parsed command.
Status ask(CLI::App& app, Line& line, Parsed& parsed) {
    ROOFLINE_TRY(auto format, format_of(line.words));
    const bool color = color_wanted(line.words.color);
    for (const Command* command : commands) {
        const CLI::App* words = find_command(app, command->name);
        if (!words->parsed() || !words->get_subcommands().empty()) continue;
        ROOFLINE_TRY(auto what, command->request(line));
        std::visit(
            [&](auto& request) {
                using Kind = std::decay_t<decltype(request)>;
                if constexpr (std::is_same_v<Kind, AnyRequest>) {
                    parsed.request = Request{std::move(request), format, color};
                } else if constexpr (std::is_same_v<Kind, AnyLocalRequest>) {
                    parsed.local = LocalRequest{std::move(request), format, color};
                } else {
                    parsed.print = std::move(request);
                }
            },
            what);
        parsed.plots = line.plots;
        parsed.command = command->name;
    }
    return {};
}

OptionFacts facts_of(const CLI::Option& option, const char* command) {
    OptionFacts facts{command, "", option.get_description(), option.get_type_name()};
    facts.positional = option.get_lnames().empty();
    facts.name = facts.positional ? option.get_name() : option.get_lnames().front();
    if (option.get_items_expected_max() == 0) facts.value.clear();
    facts.repeated = option.get_items_expected_max() > 1 || option.get_multi_option_policy() == repeats;
    return facts;
}

// Refuses `--ert=`, for which CLI11 takes the next word as the value.
Status refuse_empty_values(const std::vector<std::string>& arguments) {
    for (const std::string& word : arguments) {
        if (word == "--") break;
        if (!word.starts_with("--") || word.find('=') != word.size() - 1) continue;
        const std::string name = word.substr(0, word.size() - 1);
        return fail("usage", fmt::format("{} has no value", name), "write a value behind it, or leave it out");
    }
    return {};
}

}  // namespace

std::string report_html(const Response& response, const Parsed& parsed, const std::vector<std::string>& arguments) {
    if (!response.page) return "";
    PageOrigin origin{ROOFLINE_VERSION, "roofline " + parsed.command, today(), {"roofline"}, response.beside};
    origin.command.insert(origin.command.end(), arguments.begin(), arguments.end());
    return page_html(*response.page, origin);
}

std::vector<OptionFacts> option_facts() {
    std::vector<OptionFacts> all;
    Line line;
    for (const Command* command : commands) {
        CLI::App app;
        app.set_help_flag();
        command->add(app, line);
        for (const CLI::Option* option : app.get_options()) all.push_back(facts_of(*option, command->name));
    }
    return all;
}

Result<Parsed> parse_arguments(const std::vector<std::string>& arguments, bool& json) {
    json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
    CLI::App app{"Predicts how long a deep-learning computation takes, what limits it, and what would change that.",
                 "roofline"};
    app.set_help_flag();
    bool help = false;
    bool version = false;
    app.add_flag("-h,--help", help, "this text");
    app.add_flag("--version", version, "the version");
    app.require_subcommand(0, 1);
    app.get_formatter()->column_width(34);
    Line line;
    line.app = &app;
    for (const Command* command : commands) {
        CLI::App* sub = make_command(app, command->name, command->does);
        if (!is_relevant(*command, arguments)) continue;
        sub->set_help_flag();
        sub->add_flag("-h,--help", help, "this text");
        command->add(*sub, line);
    }
    Parsed parsed;
    // Help does not require that other arguments are valid.
    const bool wants_help = std::any_of(arguments.begin(), arguments.end(),
                                        [](const std::string& word) { return word == "-h" || word == "--help"; });
    if (wants_help || arguments.empty()) {
        parsed.print = narrowed(help_text(app, arguments), columns_wanted().value_or(120));
        return parsed;
    }
    ROOFLINE_CHECK(refuse_empty_values(arguments));
    ROOFLINE_CHECK(
        parse_words(app, arguments, [&](std::string_view problem) { return usage_error(app, problem, arguments); }));
    if (version) {
        parsed.print = fmt::format("roofline {}\n", ROOFLINE_VERSION);
        return parsed;
    }
    ROOFLINE_CHECK(ask(app, line, parsed));
    return parsed;
}

}  // namespace roofline::core::cli
