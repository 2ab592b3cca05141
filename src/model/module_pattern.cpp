#include "model/module_pattern.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

std::string without_tower(std::string_view name) {
    std::string result(name);
    constexpr std::string_view tower = "language_model.";
    for (std::size_t at = result.find(tower); at != std::string::npos; at = result.find(tower, at)) {
        if (at > 0 && result[at - 1] != '.' && result[at - 1] != '*') {
            at += tower.size();
            continue;
        }
        result.erase(at, tower.size());
    }
    return result;
}

// Matches a pattern in which stars stand for any letters. It is linear in practice because only the last star is
// retried.
bool matches_stars(std::string_view pattern, std::string_view name) {
    std::size_t p = 0;
    std::size_t n = 0;
    std::size_t star = std::string_view::npos;
    std::size_t resume = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = n;
        } else if (p < pattern.size() && pattern[p] == name[n]) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

// Matches the name, a complete part of it between dots, or a module that contains it.
bool matches_part(std::string_view pattern, std::string_view name) {
    const std::string inside = "." + std::string(name) + ".";
    return inside.find("." + std::string(pattern) + ".") != std::string::npos;
}

// One step of a regular expression: one of several texts, or any letter; possibly repeated.
struct PatternStep {
    std::vector<std::string> texts;  ///< none: any letter
    bool repeats = false;
    bool optional = false;
    bool end = false;
};

Result<std::vector<PatternStep>> steps_of(std::string_view pattern) {
    const auto unknown = [&](std::string_view what) {
        return fail("unsupported", fmt::format("the pattern {} uses {}", in_ticks(pattern), what),
                    "supported are letters, `.`, `*`, `+`, `\\.`, (a|b), ^ and $");
    };
    std::vector<PatternStep> steps;
    std::size_t at = pattern.starts_with('^') ? 1 : 0;
    while (at < pattern.size()) {
        const char c = pattern[at++];
        PatternStep step;
        if (c == '*' || c == '+') {
            if (steps.empty() || steps.back().repeats || steps.back().end) return unknown("a star after nothing");
            steps.back().repeats = true;
            steps.back().optional = c == '*';
            continue;
        }
        if (c == '$') {
            step.end = true;
        } else if (c == '\\') {
            if (at == pattern.size()) return unknown("a backslash at its end");
            const char escaped = pattern[at++];
            if (escaped == 'd') {
                for (char digit = '0'; digit <= '9'; ++digit) step.texts.emplace_back(1, digit);
            } else if ((escaped >= 'a' && escaped <= 'z') || (escaped >= 'A' && escaped <= 'Z')) {
                return unknown(fmt::format("\\{}", escaped));
            } else {
                step.texts.emplace_back(1, escaped);
            }
        } else if (c == '(') {
            const std::size_t close = pattern.find(')', at);
            std::string_view inside = pattern.substr(at, close == std::string_view::npos ? 0 : close - at);
            if (inside.starts_with("?:")) inside.remove_prefix(2);
            if (close == std::string_view::npos || inside.empty() ||
                inside.find_first_of("([.*+?\\$^") != std::string_view::npos) {
                return unknown("a group that contains more than texts");
            }
            while (true) {
                const std::size_t bar = inside.find('|');
                step.texts.emplace_back(inside.substr(0, bar));
                if (bar == std::string_view::npos) break;
                inside.remove_prefix(bar + 1);
            }
            at = close + 1;
        } else if (c == '[' || c == '?' || c == '{' || c == '|' || c == ')' || c == '^') {
            return unknown(fmt::format("`{}`", c));
        } else if (c != '.') {
            step.texts.emplace_back(1, c);
        }
        steps.push_back(std::move(step));
    }
    return steps;
}

// Positions in the name that the steps so far may have reached. Because this is a set, no pattern takes long.
std::vector<bool> after(const PatternStep& step, const std::vector<bool>& before, std::string_view name) {
    std::vector<bool> places(name.size() + 1, false);
    if (step.end) {
        places[name.size()] = before[name.size()];
        return places;
    }
    if (step.optional) places = before;
    std::vector<bool> from = before;
    for (std::size_t at = 0; at <= name.size(); ++at) {
        if (!from[at]) continue;
        const auto reach = [&](std::size_t place) {
            places[place] = true;
            if (step.repeats) from[place] = true;
        };
        if (step.texts.empty()) {
            if (at < name.size()) reach(at + 1);
            continue;
        }
        for (const std::string& text : step.texts) {
            if (!text.empty() && name.substr(at).starts_with(text)) reach(at + text.size());
        }
    }
    return places;
}

}  // namespace

Result<bool> means_module(std::string_view pattern, std::string_view name) {
    if (pattern.starts_with("re:")) {
        ROOFLINE_TRY(auto steps, steps_of(pattern.substr(3)));
        std::vector<bool> places(name.size() + 1, false);
        places[0] = true;
        for (const PatternStep& step : steps) places = after(step, places, name);
        for (const bool place : places) {
            if (place) return true;
        }
        return false;
    }
    const std::string plain = without_tower(pattern);
    const std::string module = without_tower(name);
    if (plain.find('*') == std::string::npos) return matches_part(plain, module);
    return matches_stars(plain, module) || matches_stars(plain + ".*", module);
}

}  // namespace roofline::core
