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

// A text in lines of comments.
std::string commented(std::string_view text) {
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

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
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
        lines.push_back(fmt::format("{}{}: {}", indent, quoted(each.key), json_of_node(each, depth + 1)));
    }
    return fmt::format("{{\n{}\n{}}}", fmt::join(lines, ",\n"), std::string(2 * depth, ' '));
}

}  // namespace

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

std::vector<const LaunchSetting*> LaunchWriter::given() const {
    std::vector<const LaunchSetting*> settings;
    for (const LaunchSetting& each : table_.settings) {
        const auto found = values_.find(each.key);
        if (found == values_.end()) continue;
        const bool first = &each == &table_.settings.front();  // which is written in any case, so that none is empty
        if (found->second == each.otherwise && !first) continue;
        if (each.kind == LaunchKind::on && found->second == "false" && each.otherwise != "true") continue;
        settings.push_back(&each);
    }
    return settings;
}

std::string LaunchWriter::value_text(const LaunchSetting& setting) const {
    const std::string& value = values_.find(setting.key)->second;
    const bool bare =
        setting.kind == LaunchKind::number || setting.kind == LaunchKind::real || setting.kind == LaunchKind::on;
    return bare ? value : quoted(value);
}

std::string LaunchWriter::as_flags() const {
    std::string out = table_.command;
    for (const LaunchSetting* each : given()) {
        const std::string& value = values_.find(each->key)->second;
        out += fmt::format(" \\\n    --{}", each->name);
        if (each->kind == LaunchKind::on) continue;
        const bool plain = value.find_first_of("{\"' $") == std::string::npos || each->kind == LaunchKind::words;
        out += plain ? " " + value : fmt::format(" '{}'", value);
    }
    return out + "\n";
}

std::string LaunchWriter::as_keys() const {
    std::string out;
    std::string section;
    for (const LaunchSetting* each : given()) {
        const auto [inside, key] = section_of(each->name);
        if (inside != section) out += fmt::format("\n[{}]\n", inside);
        section = inside;
        out += fmt::format("{} = {}\n", key, value_text(*each));
    }
    return out;
}

// JSON has no comments, so they are the values of a key that the framework does not read.
std::string LaunchWriter::as_json(const std::string& heading, const std::vector<std::string>& remarks) const {
    LaunchNode root;
    std::vector<std::string> lines{quoted(heading)};
    for (const std::string& remark : remarks) lines.push_back(quoted(remark));
    inner_of(root, "//").value = fmt::format("[\n    {}\n  ]", fmt::join(lines, ",\n    "));
    for (const LaunchSetting* each : given()) add_leaf(root, each->name, value_text(*each));
    return json_of_node(root, 0) + "\n";
}

EmittedLaunch LaunchWriter::written(const std::string& heading) && {
    EmittedLaunch launch{table_.name, table_.version, "", std::move(remarks_)};
    const std::string head = fmt::format("{} {}: {}", table_.title, table_.version, heading);
    if (table_.form == LaunchForm::json) {
        launch.text = as_json(head, launch.remarks);
        return launch;
    }
    launch.text = commented(head);
    for (const std::string& remark : launch.remarks) launch.text += commented(remark);
    launch.text += table_.form == LaunchForm::flags ? as_flags() : as_keys();
    return launch;
}

}  // namespace roofline::core
