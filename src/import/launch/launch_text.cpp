#include "import/launch/launch_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "import/launch/shell_words.hpp"
#include "import/table_fields.hpp"
#include "text/json.hpp"
#include "text/toml_node.hpp"
#include "text/yaml.hpp"

namespace roofline::core {

namespace {

std::string scalar_text(const FileValue& value) {
    switch (value.kind) {
        case FileValue::Kind::null:
            return "null";
        case FileValue::Kind::boolean:
            return value.boolean ? "true" : "false";
        case FileValue::Kind::whole:
            return fmt::format("{}", value.whole);
        case FileValue::Kind::real:
            return fmt::format("{}", value.real);
        case FileValue::Kind::text:
            return value.text;
        case FileValue::Kind::list:
        case FileValue::Kind::table:
            break;
    }
    return "[..]";
}

std::string inner_name(const std::string& outer, const std::string& key) {
    return outer.empty() ? key : fmt::format("{}.{}", outer, key);
}

// The parsers limit the depth of nesting.
void add_leaves(const Source& source, const std::string& name, const FileValue& value, std::vector<LaunchWord>& words) {
    if (value.is(FileValue::Kind::table)) {
        for (const auto& [key, inner] : value.members) {
            add_leaves(source, inner_name(name, key), inner, words);
        }
        return;
    }
    LaunchWord word{name, {}, source.span(value.offset), false};
    if (value.is(FileValue::Kind::list)) {
        for (const FileValue& item : value.items) word.values.push_back(scalar_text(item));
    } else {
        word.values.push_back(scalar_text(value));
    }
    words.push_back(std::move(word));
}

void add_toml_leaves(const std::string& name, TomlNode node, std::string_view text, std::vector<LaunchWord>& words) {
    if (node.is(TomlKind::table)) {
        for (const TomlNode inner : node) {
            const std::string key(inner.key());
            add_toml_leaves(inner_name(name, key), inner, text, words);
        }
        return;
    }
    LaunchWord word{name, {}, span_of(node.place(), text), false};
    if (node.is(TomlKind::list)) {
        for (const TomlNode item : node) word.values.push_back(scalar_text(file_value(item)));
    } else {
        word.values.push_back(scalar_text(file_value(node)));
    }
    words.push_back(std::move(word));
}

bool is_text(std::string_view text) {
    while (!text.empty()) {
        const CodePoint next = decode_utf8(text);
        if (!next.valid || next.value == 0) return false;
        text.remove_prefix(next.length);
    }
    return true;
}

// "--tp" and "-tp", but neither "-1" nor "-"
bool is_flag(std::string_view word) {
    return word.size() > 2 && word.front() == '-' &&
           (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0);
}

// "ici_fsdp_parallelism" of "ici_fsdp_parallelism=4"; "" of other words
std::string_view assigned_name(std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals == 0) return {};
    const std::string_view name = word.substr(0, equals);
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    });
    // capital letters begin variables of the environment
    return plain && std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; }) ? name : "";
}

std::string flag_name(std::string_view word) { return std::string(word.starts_with("--") ? word.substr(2) : word); }

Status check_launch_text(std::string_view text, std::string_view name) {
    if (text.size() > max_launch_bytes) {
        return fail("too_large", fmt::format("{}: {} bytes are no launch line and no configuration", name, text.size()),
                    "give the file that starts the run, of at most 1 MiB");
    }
    if (!is_text(text)) {
        return fail("not_text", fmt::format("{} is not a text in UTF-8", name),
                    "give the flags or the configuration that start the run");
    }
    if (trimmed(text).empty()) {
        return fail("empty", fmt::format("{} is empty", name),
                    "it must hold the flags or the configuration that start the run");
    }
    return {};
}

}  // namespace

Result<std::vector<LaunchWord>> launch_flags(const Source& source, const std::vector<std::string>& program,
                                             bool assigns) {
    const auto starts = [&](const std::string& word) {
        return std::any_of(program.begin(), program.end(), [&](const std::string& end) { return word.ends_with(end); });
    };
    ROOFLINE_TRY(const auto words, shell_words(source));
    std::vector<LaunchWord> flags;
    for (const ShellWord& word : words) {
        if (word.ends_command) {
            flags.push_back({"", {}, source.span(word.offset)});
        } else if (starts(word.text)) {
            while (!flags.empty() && !flags.back().name.empty()) flags.pop_back();
        } else if (const std::string_view name = assigned_name(word.text); assigns && !name.empty()) {
            flags.push_back({std::string(name), {word.text.substr(name.size() + 1)}, source.span(word.offset), false});
        } else if (!is_flag(word.text)) {
            if (!flags.empty() && !flags.back().name.empty()) flags.back().values.push_back(word.text);
        } else if (const std::size_t equals = word.text.find('='); equals != std::string::npos) {
            flags.push_back(
                {flag_name(word.text.substr(0, equals)), {word.text.substr(equals + 1)}, source.span(word.offset)});
        } else {
            flags.push_back({flag_name(word.text), {}, source.span(word.offset)});
        }
    }
    std::erase_if(flags, [](const LaunchWord& each) { return each.name.empty(); });
    return flags;
}

Result<std::vector<LaunchWord>> launch_keys(const Source& source, std::string_view name, LaunchForm form) {
    std::vector<LaunchWord> words;
    if (form == LaunchForm::toml) {
        ROOFLINE_TRY(const auto document, TomlDocument::parse(source));
        add_toml_leaves("", document.root(), source.text(), words);
        return words;
    }
    ROOFLINE_TRY(const FileValue root,
                 form == LaunchForm::json ? parse_json(source.text(), name) : parse_yaml(source.text(), name));
    if (!root.is(FileValue::Kind::table)) {
        return fail("no_configuration", fmt::format("{} holds {}, not keys with values", name, kind_name(root.kind)),
                    "give the file that configures the run");
    }
    add_leaves(source, "", root, words);
    return words;
}

namespace {

// Whether a text outside of comments has a word that only a command has.
bool is_command(std::string_view text, const LaunchTable& table) {
    if (table.form == LaunchForm::flags) return true;
    if (table.form == LaunchForm::json) return false;
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line = trimmed(line);
        if (line.starts_with('#')) continue;
        if (line.starts_with("--") && !line.starts_with("---")) return true;
        const std::string_view first = line.substr(0, line.find_first_of(" \t"));
        const bool assigned =
            table.assigns && first.find(':') == std::string_view::npos && !assigned_name(first).empty();
        const std::size_t flag = line.find(" --");
        // behind the name of a key it is a part of a text
        const bool flagged = flag != std::string_view::npos && flag < line.find_first_of("=:");
        if (assigned || flagged) return true;
        for (const std::string& end : table.program) {
            const std::size_t at = line.find(end);
            if (at != std::string_view::npos && line.find(':') > at) return true;
        }
    }
    return false;
}

}  // namespace

Result<std::vector<LaunchWord>> launch_words(std::string_view text, std::string_view name, const LaunchTable& table) {
    ROOFLINE_CHECK(check_launch_text(text, name));
    const Source source(text, std::string(name));
    ROOFLINE_TRY(auto words, is_command(text, table) ? launch_flags(source, table.program, table.assigns)
                                                     : launch_keys(source, name, table.form));
    if (words.empty()) {
        return fail("empty", fmt::format("{} holds no setting", name),
                    fmt::format("{} is started with {} such as {}", table.title,
                                table.form == LaunchForm::flags ? "flags" : "keys",
                                table.written(table.of_key("tensor")->name)));
    }
    return words;
}

Result<LaunchTable> recognised_launch(std::string_view text, std::string_view name, bool trains) {
    ROOFLINE_CHECK(check_launch_text(text, name));
    ROOFLINE_TRY(auto tables, launch_tables());
    std::vector<std::string> fitting;
    std::vector<std::string> known;
    const LaunchTable* found = nullptr;
    for (const LaunchTable& table : tables) {
        if (table.trains == trains) known.push_back(table.name);
        const bool marked = std::any_of(table.marks.begin(), table.marks.end(),
                                        [&](const std::string& mark) { return holds(text, mark); });
        if (!marked) continue;
        fitting.push_back(table.name);
        found = &table;
    }
    if (fitting.size() == 1) {
        if (found->trains == trains) return *found;
        return launch_table(found->name, trains);
    }
    const std::string example =
        fmt::format("--plan-from {}:{}", fitting.empty() ? known.front() : fitting.front(), name);
    if (!fitting.empty()) {
        return fail("unknown_framework", fmt::format("{} could be a file of {}", name, fmt::join(fitting, " or ")),
                    "name the framework: " + example);
    }
    return fail("unknown_framework", fmt::format("it cannot be told which framework {} starts", name),
                fmt::format("name it ({}): {}", fmt::join(known, ", "), example));
}

}  // namespace roofline::core
