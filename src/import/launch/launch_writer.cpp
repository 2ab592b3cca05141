#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/ascii.hpp"
#include "import/launch/launch_values.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t launch_width = 110;

// TOML, JSON and YAML read the same quotes.
std::string quoted_value(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

bool is_bare_word(std::string_view word) {
    const bool digits = !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
    return digits || word == "true" || word == "false";
}

// A value of a configuration.
std::string key_value(const LaunchSetting& setting, const std::string& value) {
    switch (setting.kind) {
        case LaunchKind::number:
        case LaunchKind::count:
        case LaunchKind::real:
        case LaunchKind::on:
            return value;
        case LaunchKind::choice:
            return is_bare_word(value) ? value : quoted_value(value);
        case LaunchKind::words: {
            std::vector<std::string> words;
            std::string_view rest = value;
            while (!rest.empty()) {
                const std::size_t end = std::min(rest.find(' '), rest.size());
                words.push_back(quoted_value(rest.substr(0, end)));
                rest.remove_prefix(std::min(end + 1, rest.size()));
            }
            return fmt::format("[{}]", fmt::join(words, ", "));
        }
        case LaunchKind::anything:
            break;
    }
    return quoted_value(value);
}

// The section of "a.b.c" is "a.b".
std::pair<std::string, std::string> section_of(const std::string& name) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) return {"", name};
    return {name.substr(0, dot), name.substr(dot + 1)};
}

struct LaunchNode {
    std::string key;
    std::string value;  ///< of a leaf
    std::vector<LaunchNode> inner;
};

LaunchNode& inner_of(LaunchNode& node, const std::string& key) {
    const auto found =
        std::find_if(node.inner.begin(), node.inner.end(), [&](const LaunchNode& each) { return each.key == key; });
    if (found != node.inner.end()) return *found;
    node.inner.push_back({key, "", {}});
    return node.inner.back();
}

void add_leaf(LaunchNode& root, std::string_view name, std::string value) {
    LaunchNode* node = &root;
    while (true) {
        const std::size_t dot = name.find('.');
        node = &inner_of(*node, std::string(name.substr(0, dot)));
        if (dot == std::string_view::npos) break;
        name.remove_prefix(dot + 1);
    }
    node->value = std::move(value);
}

std::string json_of_node(const LaunchNode& node, std::size_t depth) {
    if (node.inner.empty()) return node.value;
    const std::string indent(2 * (depth + 1), ' ');
    std::vector<std::string> lines;
    for (const LaunchNode& each : node.inner) {
        lines.push_back(fmt::format("{}{}: {}", indent, quoted_value(each.key), json_of_node(each, depth + 1)));
    }
    return fmt::format("{{\n{}\n{}}}", fmt::join(lines, ",\n"), std::string(2 * depth, ' '));
}

std::string yaml_of_node(const LaunchNode& node, std::size_t depth) {
    const std::string indent(2 * depth, ' ');
    std::string out;
    for (const LaunchNode& each : node.inner) {
        out += each.inner.empty() ? fmt::format("{}{}: {}\n", indent, each.key, each.value)
                                  : fmt::format("{}{}:\n{}", indent, each.key, yaml_of_node(each, depth + 1));
    }
    return out;
}

}  // namespace

std::string launch_heading(const Plan& plan, std::int64_t chips) {
    return chips == 1 ? plan_text(plan) : fmt::format("{} on {} chips", plan_text(plan), chips);
}

std::string launch_comment(std::string_view text) {
    std::string lines;
    std::string line;
    const auto end_line = [&] {
        lines += fmt::format("# {}\n", line);
        line.clear();
    };
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        if (!line.empty() && line.size() + 1 + word.size() > launch_width) end_line();
        line += line.empty() ? std::string(word) : fmt::format(" {}", word);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (!line.empty()) end_line();
    return lines;
}

bool LaunchWriter::set(std::string_view key, std::string_view value) {
    const LaunchSetting* const setting = table_.of_key(key);
    if (setting == nullptr) return false;
    std::string theirs(value);
    if (setting->kind == LaunchKind::choice) {
        const auto choice = std::find_if(setting->choices.begin(), setting->choices.end(),
                                         [&](const auto& each) { return each.second == value; });
        const bool left_out = choice == setting->choices.end() && setting->otherwise == value;
        if (choice == setting->choices.end() && !left_out) return false;
        theirs = left_out ? setting->otherwise : choice->first;
    }
    values_.insert_or_assign(std::string(key), std::move(theirs));
    return true;
}

bool LaunchWriter::set(std::string_view key, std::int64_t value) { return set(key, fmt::format("{}", value)); }

std::vector<LaunchWriter::Given> LaunchWriter::given() const {
    std::vector<Given> settings;
    for (const LaunchSetting& each : table_.settings) {
        const auto found = values_.find(each.key);
        if (found == values_.end()) continue;
        const bool first = &each == &table_.settings.front();  // which is written in any case, so that none is empty
        if (found->second == each.otherwise && !first) continue;
        if (each.kind == LaunchKind::on && found->second == "false" && each.otherwise != "true") continue;
        settings.push_back({&each, found->second});
    }
    for (const auto& [setting, value] : further_) settings.push_back({&setting, value});
    return settings;
}

void LaunchWriter::pool(bool prefill) {
    for (const PoolSetting& each : table_.pool_settings) {
        const std::string& value = prefill ? each.prefill : each.decode;
        if (value.empty()) continue;
        LaunchSetting setting;
        setting.name = each.name;
        setting.kind = is_bare_word(value) ? LaunchKind::on : LaunchKind::anything;
        further_.emplace_back(std::move(setting), value);
    }
}

std::string LaunchWriter::as_flags() const {
    std::string out = table_.command;
    for (const Given& each : given()) {
        out += fmt::format(" \\\n    --{}", each.setting->name);
        if (each.setting->kind == LaunchKind::on) continue;
        const bool plain =
            each.value.find_first_of("{\"' $") == std::string::npos || each.setting->kind == LaunchKind::words;
        out += plain ? " " + each.value : fmt::format(" '{}'", each.value);
    }
    return out + "\n";
}

std::string LaunchWriter::as_toml() const {
    std::string out;
    std::string section;
    for (const Given& each : given()) {
        const auto [inside, key] = section_of(each.setting->name);
        if (inside != section) out += fmt::format("\n[{}]\n", inside);
        section = inside;
        out += fmt::format("{} = {}\n", key, key_value(*each.setting, each.value));
    }
    return out;
}

// JSON has no comments, so they are the values of a key that the framework does not read.
std::string LaunchWriter::as_tree(const std::vector<std::string>& comments) const {
    LaunchNode root;
    if (!comments.empty()) {
        std::vector<std::string> lines;
        for (const std::string& each : comments) lines.push_back(quoted_value(each));
        inner_of(root, "//").value = fmt::format("[\n    {}\n  ]", fmt::join(lines, ",\n    "));
    }
    for (const Given& each : given()) add_leaf(root, each.setting->name, key_value(*each.setting, each.value));
    return comments.empty() ? yaml_of_node(root, 0) : json_of_node(root, 0) + "\n";
}

EmittedLaunch LaunchWriter::written(const std::string& heading) && {
    if (table_.form != LaunchForm::flags && !table_.command.empty()) {
        remarks_.insert(remarks_.begin(), fmt::format("start: {}", table_.command));
    }
    EmittedLaunch launch{table_.name, table_.version, "", std::move(remarks_)};
    const std::string head = fmt::format("{} {}: {}", table_.title, table_.version, heading);
    if (table_.form == LaunchForm::json) {
        std::vector<std::string> comments = launch.remarks;
        comments.insert(comments.begin(), head);
        launch.text = as_tree(comments);
        return launch;
    }
    launch.text = launch_comment(head);
    for (const std::string& remark : launch.remarks) launch.text += launch_comment(remark);
    launch.text += table_.form == LaunchForm::flags  ? as_flags()
                   : table_.form == LaunchForm::toml ? as_toml()
                                                     : as_tree({});
    return launch;
}

}  // namespace roofline::core
