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

namespace roofline::core {

namespace {

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

Result<std::vector<LaunchWord>> launch_flags(const Source& source, const std::vector<std::string>& program) {
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

Result<std::vector<LaunchWord>> launch_words(std::string_view text, std::string_view name, const LaunchTable& table) {
    ROOFLINE_CHECK(check_launch_text(text, name));
    const Source source(text, std::string(name));
    ROOFLINE_TRY(auto words, launch_flags(source, table.program));
    if (words.empty()) {
        return fail("empty", fmt::format("{} holds no setting", name),
                    fmt::format("{} is started with flags such as {}", table.title,
                                table.written(table.settings.front().name)));
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
