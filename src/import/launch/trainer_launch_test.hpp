// What tests of configurations of trainers share.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "import/launch/training_launch.hpp"

namespace roofline::core {

inline LaunchTable trainer_table(const std::string& name) {
    auto table = launch_table(name, true);
    REQUIRE_MESSAGE(table, table.error().message);
    return std::move(*table);
}

inline Result<TrainingLaunch> trainer_read(const std::string& name, const std::string& text, const LaunchJob& job) {
    ROOFLINE_TRY(const auto values, LaunchValues::read(text, "run", trainer_table(name)));
    return training_launch(values, job);
}

inline TrainingLaunch trainer_launch(const std::string& name, const std::string& text, const LaunchJob& job) {
    auto launch = trainer_read(name, text, job);
    CAPTURE(text);
    REQUIRE_MESSAGE(launch, launch.error().message);
    return std::move(*launch);
}

inline bool one_has(const std::vector<std::string>& texts, const std::string& part) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& each) { return each.find(part) != std::string::npos; });
}

/// The keys of a text with one "key = value" or "key: value" a line, without the code that reads them.
inline std::map<std::string, std::string> keys_by_line(const std::string& text) {
    std::map<std::string, std::string> keys;
    std::istringstream lines(text);
    std::string section;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.front() == '#') continue;
        if (line.front() == '[') {
            section = line.substr(1, line.size() - 2) + ".";
            continue;
        }
        const std::size_t mark = line.find_first_of(":=");
        std::string key = line.substr(0, mark);
        key.erase(key.find_last_not_of(' ') + 1);
        std::string value = line.substr(mark + 2);
        std::erase(value, '"');
        keys[section + key] = value;
    }
    return keys;
}

}  // namespace roofline::core
