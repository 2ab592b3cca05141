#include "import/launch/launch_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t max_launch_number = std::int64_t{1} << 40U;

template <class Number>
std::optional<Number> number_in(std::string_view word) {
    Number number{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (word.empty() || error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    return number;
}

std::string our_word(const LaunchSetting& setting, std::string_view theirs) {
    for (const auto& [word, meaning] : setting.choices) {
        if (word == theirs) return meaning;
    }
    return std::string(theirs);
}

std::string hint_for(std::string_view word, const LaunchSetting& setting) {
    if (word.find('$') != std::string_view::npos) return "put the value of the variable there";
    std::vector<std::string> words;
    for (const auto& each : setting.choices) words.push_back(each.first);
    switch (setting.kind) {
        case LaunchKind::number:
            return "it takes a whole number from 1 to 2^40";
        case LaunchKind::count:
            return "it takes a whole number from 0 to 2^40";
        case LaunchKind::real:
            return "it takes a number above 0";
        case LaunchKind::on:
            return "it is true or false";
        default:
            return did_you_mean(word, words, fmt::format("it is one of {}", fmt::join(words, ", ")));
    }
}

// The value in our words; empty if the setting cannot have it.
std::optional<std::string> checked_value(const LaunchSetting& setting, const LaunchWord& word) {
    const std::string first = word.values.empty() ? "" : word.values.front();
    const bool whole = setting.kind == LaunchKind::number || setting.kind == LaunchKind::count;
    // which YAML 1.1 reads in base 8
    if (whole && !word.flag && first.size() > 1 && first.front() == '0') return std::nullopt;
    switch (setting.kind) {
        case LaunchKind::on: {
            if (word.flag) return "true";  // what stands behind it belongs to the command
            const std::string said = lowered(first);
            if (said == "true" || said == "false") return said;
            return std::nullopt;
        }
        case LaunchKind::count: {
            const auto number = number_in<std::int64_t>(first);
            if (!number || *number < 0 || *number > max_launch_number) return std::nullopt;
            return fmt::format("{}", *number);
        }
        case LaunchKind::number: {
            const auto number = number_in<std::int64_t>(first);
            if (!number || (*number < 1 && *number != -1) || *number > max_launch_number) return std::nullopt;
            return fmt::format("{}", *number);
        }
        case LaunchKind::real: {
            const auto number = number_in<double>(first);
            if (!number || !std::isfinite(*number) || *number <= 0) return std::nullopt;
            return fmt::format("{}", *number);
        }
        case LaunchKind::choice:
            for (const auto& [theirs, ours] : setting.choices) {
                if (theirs == first) return ours;
            }
            return std::nullopt;
        case LaunchKind::words:
            return fmt::format("{}", fmt::join(word.values, " "));
        case LaunchKind::anything:
            break;
    }
    return first;
}

// Keys of configurations may be there without a value.
bool absent_value(const LaunchWord& word) {
    const auto is_none = [](const std::string& value) { return value == "null" || value == "None" || value.empty(); };
    return !word.flag && (word.values.empty() || (word.values.size() == 1 && is_none(word.values.front())));
}

}  // namespace

Status LaunchValues::take(const Source& source, const LaunchSetting& setting, const LaunchWord& word) {
    const std::string flag = table_.written(word.name);
    if (absent_value(word)) return {};
    const bool needs = setting.kind != LaunchKind::on && setting.kind != LaunchKind::words;
    if (needs && word.values.empty()) {
        return source.fail_at(word.at, "no_value", fmt::format("{} has no value", flag), "write it behind the name");
    }
    const auto value = checked_value(setting, word);
    if (!value) {
        return source.fail_at(word.at, "bad_value", fmt::format("{} cannot be {}", flag, in_ticks(word.values.front())),
                              hint_for(word.values.front(), setting));
    }
    const auto [known, added] = values_.try_emplace(setting.key, Value{*value, word.at});
    if (added || known->second.text == *value) return {};
    return source.fail_at(word.at, "contradiction",
                          fmt::format("{} is given twice, as {} and {}", flag, known->second.text, *value),
                          "keep one of them");
}

Result<LaunchValues> LaunchValues::read(std::string_view text, std::string_view name, LaunchTable table) {
    LaunchValues values;
    values.table_ = std::move(table);
    values.text_ = text;
    values.name_ = name;
    const LaunchTable& known = values.table_;
    const Source source(text, std::string(name));
    ROOFLINE_TRY(const auto words, launch_words(text, name, known));
    std::vector<std::string> ignored;
    for (const LaunchWord& word : words) {
        if (const LaunchSetting* const setting = known.of_name(word.name)) {
            ROOFLINE_CHECK(values.take(source, *setting, word));
        } else if (const std::string why = known.why_unsaid(word.name); !why.empty()) {
            values.notes_.push_back(fmt::format("{} is not part of the plan: {}", known.written(word.name), why));
        } else if (known.is_ignored(word.name)) {
            if (std::find(ignored.begin(), ignored.end(), word.name) == ignored.end()) ignored.push_back(word.name);
        } else {
            std::vector<std::string> names;
            for (const LaunchSetting& each : known.settings) names.push_back(known.written(each.name));
            const std::string given = known.written(word.name);
            return source.fail_at(
                word.at, "unknown_setting", fmt::format("{} {} has no {}", known.title, known.version, in_ticks(given)),
                did_you_mean(given, names, "remove it, if it changes neither how the model is split nor its numbers"));
        }
    }
    if (values.values_.empty()) {
        return fail("no_plan", fmt::format("{} says nothing about a plan for {}", name, known.title),
                    fmt::format("it says how the model is split, for example with {}",
                                known.written(known.of_key("tensor")->name)));
    }
    constexpr std::size_t shown = 6;
    if (!ignored.empty()) {
        const std::size_t more = ignored.size() > shown ? ignored.size() - shown : 0;
        ignored.resize(std::min(ignored.size(), shown));
        for (std::string& each : ignored) each = known.written(each);
        values.notes_.push_back(fmt::format("ignored, because it does not change the plan: {}{}",
                                            fmt::join(ignored, ", "),
                                            more == 0 ? "" : fmt::format(" and {} more", more)));
    }
    return values;
}

bool LaunchValues::on(std::string_view key) const { return text(key) == "true"; }

std::string LaunchValues::text(std::string_view key) const {
    if (const auto found = values_.find(key); found != values_.end()) return found->second.text;
    const LaunchSetting* const setting = table_.of_key(key);
    return setting == nullptr ? "" : our_word(*setting, setting->otherwise);
}

std::optional<std::int64_t> LaunchValues::number(std::string_view key) const {
    const auto number = number_in<std::int64_t>(text(key));
    return number && *number >= 1 ? number : std::nullopt;
}

std::optional<double> LaunchValues::real(std::string_view key) const { return number_in<double>(text(key)); }

tl::unexpected<Error> LaunchValues::fail_at(std::string_view key, std::string code, std::string message,
                                            std::string hint) const {
    const auto found = values_.find(key);
    if (found == values_.end()) {
        return fail(std::move(code), fmt::format("{}: {}", name_, message), std::move(hint));
    }
    return Source(text_, name_).fail_at(found->second.at, std::move(code), std::move(message), std::move(hint));
}

std::string LaunchValues::written(std::string_view key) const {
    const LaunchSetting* const setting = table_.of_key(key);
    return setting == nullptr ? std::string(key) : table_.written(setting->name);
}

}  // namespace roofline::core
