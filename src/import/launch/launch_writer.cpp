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

EmittedLaunch LaunchWriter::written(const std::string& heading) && {
    EmittedLaunch launch{table_.name, table_.version, "", std::move(remarks_)};
    const std::string head = fmt::format("{} {}: {}", table_.title, table_.version, heading);
    launch.text = commented(head);
    for (const std::string& remark : launch.remarks) launch.text += commented(remark);
    launch.text += as_flags();
    return launch;
}

}  // namespace roofline::core
