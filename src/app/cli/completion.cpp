#include "app/cli/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"

namespace roofline::core::cli {

namespace {

/// An option with the properties that completion needs.
struct CompletedOption {
    std::string name;                  ///< "--on"
    std::string help;                  ///< one line without quotes
    bool value = false;                ///< takes a value
    bool machine = false;              ///< its value names a machine
    std::vector<std::string> choices;  ///< all possible values, if there are few
};

struct CompletedCommand {
    std::string path;  ///< "measure import"
    std::string help;
    std::vector<CompletedOption> options;
};

// Returns the first sentence without characters that have a meaning for a shell.
std::string one_line(const std::string& text) {
    std::string line;
    for (const char c : text) {
        if (c == ';' || (c == '.' && line.size() > 20)) break;
        if (c == '\n') {
            line += ' ';
        } else if (std::string_view("'\"`$\\[]:").find(c) == std::string_view::npos) {
            line += c;
        }
    }
    return line;
}

// Parses "WHEN:{auto,always,never}" or "cpu|network|gpu".
std::vector<std::string> choices_in(const std::string& type) {
    std::vector<std::string> choices;
    const std::size_t brace = type.find('{');
    if (brace == std::string::npos) return choices;
    std::string word;
    for (const char c : type.substr(brace + 1)) {
        if (c != ',' && c != '}') {
            word += c;
            continue;
        }
        choices.push_back(std::exchange(word, ""));
        if (c == '}') break;
    }
    return choices;
}

CompletedOption option_of(const CLI::Option& option) {
    CompletedOption completed;
    completed.name = "--" + option.get_lnames().front();
    completed.help = one_line(option.get_description());
    completed.value = option.get_items_expected_max() > 0;
    completed.machine = option.get_type_name() == "MACHINE";
    completed.choices = choices_in(option.get_type_name());
    return completed;
}

void add_command(const CLI::App& app, const std::string& path, std::vector<CompletedCommand>& commands) {
    CompletedCommand command{path, one_line(app.get_description()), {}};
    for (const CLI::Option* option : app.get_options()) {
        if (!option->get_lnames().empty()) command.options.push_back(option_of(*option));
    }
    commands.push_back(std::move(command));
    for (const CLI::App* inner : app.get_subcommands([](const CLI::App*) { return true; })) {
        add_command(*inner, path + (path.empty() ? "" : " ") + inner->get_name(), commands);
    }
}

/// Returns the last words of all subcommands of a command.
std::vector<std::string> below(const std::vector<CompletedCommand>& commands, const std::string& path) {
    std::vector<std::string> words;
    for (const CompletedCommand& each : commands) {
        const std::size_t space = each.path.rfind(' ');
        const std::string parent = space == std::string::npos ? "" : each.path.substr(0, space);
        if (!each.path.empty() && parent == path)
            words.push_back(each.path.substr(space == std::string::npos ? 0 : space + 1));
    }
    return words;
}

std::string names_of(const CompletedCommand& command) {
    std::vector<std::string> names;
    for (const CompletedOption& option : command.options) names.push_back(option.name);
    return fmt::format("{}", fmt::join(names, " "));
}

/// Returns a `case` pattern that matches "$command $word" if the word is a command.
std::string patterns(const std::vector<CompletedCommand>& commands) {
    std::vector<std::string> all;
    for (const CompletedCommand& each : commands) {
        if (each.path.empty()) continue;
        const bool first = each.path.find(' ') == std::string::npos;
        all.push_back(fmt::format("\"{}{}\"", first ? " " : "", each.path));
    }
    return fmt::format("{}", fmt::join(all, "|"));
}

std::string bash(const std::vector<CompletedCommand>& commands, const std::vector<std::string>& machines) {
    std::string cases;
    std::string values;
    for (const CompletedCommand& command : commands) {
        std::vector<std::string> words = below(commands, command.path);
        if (command.path == "machine") words.insert(words.end(), machines.begin(), machines.end());
        cases += fmt::format("        \"{}\") options=\"{}\"; words=\"{}\" ;;\n", command.path, names_of(command),
                             fmt::join(words, " "));
        for (const CompletedOption& option : command.options) {
            const std::string line =
                fmt::format("        {}) COMPREPLY=($(compgen -W \"{}\" -- \"$current\")); return ;;\n", option.name,
                            fmt::join(option.choices, " "));
            if (!option.choices.empty() && values.find(line) == std::string::npos) values += line;
        }
    }
    return fmt::format(R"(# bash completion of roofline: source <(roofline completion bash)
_roofline() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" command="" options="" words=""
    local word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$command $word" in
            {}) command="${{command:+$command }}$word" ;;
        esac
    done
    case "$previous" in
        --on|--base)
            COMPREPLY=($(compgen -W "this {}" -- "$current") $(compgen -f -X '!*.toml' -- "$current"))
            return
            ;;
{}    esac
    case "$command" in
{}    esac
    case "$current" in
        -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
        *) COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current")) ;;
    esac
}}
complete -o filenames -F _roofline roofline
)",
                       patterns(commands), fmt::join(machines, " "), values, cases);
}

std::string fish(const std::vector<CompletedCommand>& commands, const std::vector<std::string>& machines) {
    std::string out = "# fish completion of roofline: roofline completion fish | source\n";
    for (const CompletedCommand& command : commands) {
        std::string condition = "__fish_use_subcommand";
        if (!command.path.empty()) {
            const std::size_t space = command.path.rfind(' ');
            const std::string parent = space == std::string::npos ? "" : command.path.substr(0, space);
            out += fmt::format("complete -c roofline -n '{}' -a {} -d '{}'\n",
                               parent.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + parent,
                               command.path.substr(space == std::string::npos ? 0 : space + 1), command.help);
            condition =
                "__fish_seen_subcommand_from " + command.path.substr(space == std::string::npos ? 0 : space + 1);
        }
        for (const CompletedOption& option : command.options) {
            out += fmt::format("complete -c roofline -n '{}' -l {} -d '{}'{}", condition, option.name.substr(2),
                               option.help, option.value ? " -r" : "");
            if (option.machine) out += fmt::format(" -a 'this {}'", fmt::join(machines, " "));
            if (!option.choices.empty()) out += fmt::format(" -a '{}'", fmt::join(option.choices, " "));
            out += "\n";
        }
        if (command.path == "machine") {
            out += fmt::format("complete -c roofline -n '{}' -a '{}'\n", condition, fmt::join(machines, " "));
        }
    }
    return out;
}

std::string zsh(const std::vector<CompletedCommand>& commands, const std::vector<std::string>& machines) {
    std::string cases;
    for (const CompletedCommand& command : commands) {
        std::string specs;
        for (const CompletedOption& option : command.options) {
            std::string spec = fmt::format("'*{}{}[{}]", option.name, option.value ? "=" : "", option.help);
            if (option.machine) {
                spec += fmt::format(":machine:(this {})", fmt::join(machines, " "));
            } else if (!option.choices.empty()) {
                spec += fmt::format(":value:({})", fmt::join(option.choices, " "));
            } else if (option.value) {
                spec += ":value:_files";
            }
            specs += fmt::format(" \\\n            {}'", spec);
        }
        std::vector<std::string> words = below(commands, command.path);
        if (command.path == "machine") words.insert(words.end(), machines.begin(), machines.end());
        cases += fmt::format("        \"{}\") _arguments{} \\\n            '*:word:{}' ;;\n", command.path, specs,
                             words.empty() ? "_files" : fmt::format("({})", fmt::join(words, " ")));
    }
    return fmt::format(R"(#compdef roofline
# zsh completion of roofline: roofline completion zsh > "${{fpath[1]}}/_roofline"
_roofline() {{
    local command="${{words[2]}}"
    (( CURRENT == 2 )) && command=""
    [[ "$command ${{words[3]}}" == "measure import" ]] && (( CURRENT > 3 )) && command="measure import"
    case "$command" in
{}    esac
}}
compdef _roofline roofline
)",
                       cases);
}

}  // namespace

Result<std::string> completion_script(const CLI::App& app, const std::string& shell,
                                      const std::vector<std::string>& machines) {
    std::vector<CompletedCommand> commands;
    add_command(app, "", commands);
    if (shell == "bash") return bash(commands, machines);
    if (shell == "zsh") return zsh(commands, machines);
    if (shell == "fish") return fish(commands, machines);
    return fail("usage", fmt::format("no completion for {}", roofline::core::in_ticks(shell)),
                did_you_mean(shell, {"bash", "zsh", "fish"}, "supported shells: bash, zsh, fish"));
}

}  // namespace roofline::core::cli
