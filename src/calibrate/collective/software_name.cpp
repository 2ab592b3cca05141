#include "calibrate/collective/software_name.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/ascii.hpp"
#include "calibrate/collective/expected_collective.hpp"

namespace roofline::core {

Software split_software_name(std::string_view text) {
    const std::string name = lowered(trimmed(text));
    const std::size_t end = version_place(name);
    if (end == std::string::npos) return {name, ""};
    return {name.substr(0, end), name.substr(end + 1)};
}

bool is_version_prefix(std::string_view version, std::string_view wanted) {
    return version.starts_with(wanted) && (version.size() == wanted.size() || version[wanted.size()] == '.');
}

std::size_t version_place(std::string_view software) {
    for (std::size_t at = 0; at < software.size(); ++at) {
        if (software[at] == ' ') return at;
        if (software[at] == '-' && at + 1 < software.size() && is_digit(software[at + 1])) return at;
    }
    return std::string_view::npos;
}

bool same_library(std::string_view software, std::string_view wanted) {
    return split_software_name(software).library == split_software_name(wanted).library;
}

bool is_version(std::string_view software, std::string_view wanted) {
    const Software asked = split_software_name(wanted);
    return same_library(software, wanted) &&
           (asked.version.empty() || is_version_prefix(split_software_name(software).version, asked.version));
}

bool older(std::string_view version, std::string_view other) {
    const auto next = [](std::string_view& text) -> std::pair<std::int64_t, std::string> {
        std::int64_t number = -1;
        std::string word;
        while (!text.empty() && text.front() == '.') text.remove_prefix(1);
        while (!text.empty() && is_digit(text.front()) && number < 1'000'000'000) {
            number = std::max<std::int64_t>(number, 0) * 10 + (text.front() - '0');
            text.remove_prefix(1);
        }
        while (!text.empty() && text.front() != '.' && (number < 0 || !is_digit(text.front()))) {
            word += text.front();
            text.remove_prefix(1);
            if (number < 0 && !text.empty() && is_digit(text.front())) break;
        }
        return {number, word};
    };
    while (!version.empty() || !other.empty()) {
        const auto a = next(version);
        const auto b = next(other);
        if (a != b) return a < b;
    }
    return false;
}

}  // namespace roofline::core
