#include "machine/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "machine/embedded.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t longest_text = 10'000;
constexpr std::size_t max_entries = 256;

std::string_view kind_of(TomlNode node) {
    switch (node.kind()) {
        case TomlKind::table:
            return "a table";
        case TomlKind::list:
            return "a list";
        case TomlKind::text:
            return "a text";
        case TomlKind::whole:
            return "a whole number";
        case TomlKind::real:
            return "a number";
        case TomlKind::flag:
            return "true or false";
        case TomlKind::moment:
            break;
    }
    return "a date or time";
}

/// Converts a text to one line; none if it has control characters, which a terminal would interpret.
std::optional<std::string> one_line(std::string text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte == '\n' || byte == '\t' || byte == '\r') {
            text[i] = ' ';
        } else if (byte < 0x20 || byte == 0x7F || (byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0)) {
            return std::nullopt;
        }
    }
    return text;
}

/// Each line once, in the order in which they first stand.
std::vector<std::string> different_lines(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string line(text.substr(0, end));
        if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
        text.remove_prefix(end + 1);
    }
    return lines;
}

}  // namespace

bool Problems::earlier(TomlPlace at) const { return !first_ || at < first_->at; }

void Problems::add(TomlPlace at, std::string code, std::string message, std::string hint) {
    if (earlier(at)) first_ = {at, std::move(code), std::move(message), std::move(hint)};
}

std::string Citations::resolve(std::string_view source) const {
    for (const auto& [key, citation] : own_) {
        if (key == source) return citation;
    }
    const auto all = embedded_sources();
    const auto known =
        std::lower_bound(all.begin(), all.end(), source,
                         [](const EmbeddedSource& each, std::string_view key) { return each.key < key; });
    if (known != all.end() && known->key == source) return std::string(known->citation);
    return std::string(source);
}

Reader::Reader(TomlNode table, std::string what, Problems& problems, const Citations& citations)
    : table_(table), what_(std::move(what)), problems_(problems), citations_(citations), asked_(table.size()) {
    constexpr std::size_t usual = 160;
    known_.reserve(usual);
}

TomlNode Reader::find(std::string_view key) {
    known_.append(key).push_back('\n');
    const TomlNode node = table_.find(key);
    if (node) asked_[node.index_in(table_)] = true;
    return node;
}

std::string Reader::of(std::string_view key) const {
    return what_.empty() ? in_ticks(key) : fmt::format("{} of {}", in_ticks(key), what_);
}

void Reader::fault(std::string_view key, std::string code, std::string message, std::string hint) {
    const TomlNode node = table_.find(key);
    problems_.add(node ? node.place() : table_.place(), std::move(code), std::move(message), std::move(hint));
}

std::optional<std::string> Reader::string_of(TomlNode node, std::string_view key) {
    if (!node.is(TomlKind::text)) {
        problems_.add(node.place(), "wrong_type", fmt::format("{} must be a text, not {}", of(key), kind_of(node)),
                      "write it between double quotes");
        return std::nullopt;
    }
    if (node.text().size() > longest_text) {
        problems_.add(node.place(), "too_large", fmt::format("{} has {} bytes", of(key), node.text().size()),
                      fmt::format("the longest text that is read has {}", longest_text));
        return std::nullopt;
    }
    auto line = one_line(std::string(node.text()));
    if (!line) {
        problems_.add(node.place(), "not_text", fmt::format("{} holds control characters", of(key)), "leave them out");
    }
    return line;
}

std::string Reader::text(std::string_view key) {
    const TomlNode node = find(key);
    return node ? string_of(node, key).value_or("") : "";
}

std::string Reader::word(std::string_view key) {
    const TomlNode node = find(key);
    if (node && node.is(TomlKind::whole)) return fmt::format("{}", node.whole());
    if (node && node.is(TomlKind::real)) return fmt::format("{}", node.number());
    return node ? string_of(node, key).value_or("") : "";
}

std::string Reader::required_text(std::string_view key) {
    const std::string result = text(key);
    if (!has(key)) {
        fault(key, "missing_key", fmt::format("{} is missing", of(key)), fmt::format("add {} = \"...\"", key));
    } else if (result.empty() && has_text(key)) {
        fault(key, "out_of_range", fmt::format("{} is empty", of(key)));
    }
    return result;
}

std::string Reader::choice(std::string_view key, std::span<const std::string_view> choices) {
    std::string given = text(key);
    if (given.empty() && !has(key)) return std::string(choices.front());
    if (std::find(choices.begin(), choices.end(), given) != choices.end()) return given;
    if (has_text(key)) {
        fault(
            key, "unknown_value", fmt::format("{} cannot be {}", of(key), in_ticks(given)),
            did_you_mean(given, {choices.begin(), choices.end()}, fmt::format("one of: {}", fmt::join(choices, ", "))));
    }
    return std::string(choices.front());
}

std::vector<std::string> Reader::texts(std::string_view key) {
    std::vector<std::string> result;
    const TomlNode node = find(key);
    if (!node) return result;
    if (!node.is(TomlKind::list) || node.size() > max_entries) {
        fault(key, "wrong_type", fmt::format("{} must be a list of at most {} texts", of(key), max_entries),
              "[\"A\", \"B\"]");
        return result;
    }
    for (const TomlNode item : node) {
        if (auto text = string_of(item, key)) result.push_back(std::move(*text));
    }
    return result;
}

std::int64_t Reader::whole(std::string_view key, std::int64_t least, std::int64_t most, std::int64_t otherwise) {
    const TomlNode node = find(key);
    if (!node) return otherwise;
    const bool is_whole = node.is(TomlKind::whole);
    if (!is_whole || node.whole() < least || node.whole() > most) {
        fault(key, is_whole ? "out_of_range" : "wrong_type",
              fmt::format("{} must be a whole number from {} to {}", of(key), least, most));
        return otherwise;
    }
    return node.whole();
}

std::vector<std::int64_t> Reader::shape(std::string_view key) {
    constexpr std::int64_t max_chips = 1'000'000'000;
    std::vector<std::int64_t> result;
    const TomlNode node = find(key);
    if (!node) return result;
    std::int64_t chips = 1;
    bool good = node.is(TomlKind::list) && node.size() > 0 && node.size() <= 6;
    for (std::size_t i = 0; good && i < node.size(); ++i) {
        const TomlNode size = node[i];
        good = size.is(TomlKind::whole) && size.whole() >= 1 && size.whole() <= max_chips / chips;
        if (good) result.push_back(size.whole());
        if (good) chips *= size.whole();
    }
    if (!good) {
        fault(key, "wrong_type", fmt::format("{} must be a list of one to six sizes, each at least 1", of(key)),
              "[16, 16]");
        result.clear();
    }
    return result;
}

std::vector<std::int64_t> Reader::wholes(std::string_view key, std::int64_t most) {
    std::vector<std::int64_t> result;
    const TomlNode node = find(key);
    if (!node) return result;
    bool good = node.is(TomlKind::list) && node.size() <= max_entries;
    for (std::size_t i = 0; good && i < node.size(); ++i) {
        const TomlNode number = node[i];
        good = number.is(TomlKind::whole) && number.whole() >= 1 && number.whole() <= most;
        if (good) result.push_back(number.whole());
    }
    if (good) return result;
    fault(key, "wrong_type", fmt::format("{} must be a list of whole numbers from 1 to {}", of(key), most));
    return {};
}

std::vector<double> Reader::numbers(std::string_view key) {
    std::vector<double> result;
    const TomlNode node = find(key);
    if (!node) return result;
    const auto take = [&](TomlNode item) {
        const double number = item.is_number() ? item.number() : 0;
        if (!std::isfinite(number) || number <= 0 || number > 1e9) {
            problems_.add(item.place(), "out_of_range", fmt::format("{} must be a number between 0 and 1e9", of(key)));
        } else {
            result.push_back(number);
        }
    };
    if (!node.is(TomlKind::list)) {
        take(node);
    } else if (node.size() == 0 || node.size() > 2) {
        fault(key, "wrong_type", fmt::format("{} must be one number or a range of two", of(key)), "[3.5, 5.0]");
    } else {
        for (const TomlNode item : node) take(item);
    }
    return result;
}

double Reader::number(std::string_view key, double otherwise) {
    if (!has(key)) return otherwise;
    const std::vector<double> values = numbers(key);
    if (values.size() == 1) return values.front();
    fault(key, "wrong_type", fmt::format("{} must be one number", of(key)));
    return otherwise;
}

bool Reader::flag(std::string_view key) {
    const TomlNode node = find(key);
    if (!node) return false;
    if (!node.is(TomlKind::flag)) {
        fault(key, "wrong_type", fmt::format("{} must be true or false, not {}", of(key), kind_of(node)));
        return false;
    }
    return node.flag();
}

std::optional<Dtype> Reader::dtype(std::string_view key) {
    const std::string given = text(key);
    if (given.empty()) return std::nullopt;
    const auto found = find_dtype(given);
    if (!found) {
        fault(key, "unknown_dtype", fmt::format("no dtype {}", in_ticks(given)),
              did_you_mean(given, dtype_names(), fmt::format("one of: {}", fmt::join(dtype_names(), ", "))));
    }
    return found;
}

char Reader::confidence() { return choice("confidence", {"B", "A", "C", "D"}).front(); }

std::optional<Reader> Reader::inner(std::string_view key) {
    const TomlNode node = find(key);
    if (!node) return std::nullopt;
    const auto hint = [](std::string_view name) {
        const bool figure = name != "host" && name != "matrix_unit" && name != "sources" && name != "measured";
        return figure ? fmt::format("write {} = {{ value = \"...\", source = \"...\" }}", name)
                      : fmt::format("begin it with [{}]", name);
    };
    if (!check_table(node, key, hint)) return std::nullopt;
    std::string path(key);
    if (!what_.empty() && what_.find('`') == std::string::npos) {
        path = what_.substr(what_.find_first_not_of('['), what_.find(']') - what_.find_first_not_of('[')) + "." + path;
    }
    std::string what = in_ticks(path);
    what.front() = '[';
    what.back() = ']';
    return Reader(node, std::move(what), problems_, citations_);
}

bool Reader::check_table(TomlNode node, std::string_view key, std::string (*hint)(std::string_view key)) {
    if (node.is(TomlKind::table)) return true;
    problems_.add(node.place(), "wrong_type", fmt::format("{} must be a table, not {}", of(key), kind_of(node)),
                  hint(key));
    return false;
}

std::vector<Reader> Reader::each(std::string_view key, const std::function<bool(TomlNode)>& wanted) {
    std::vector<Reader> result;
    const TomlNode node = find(key);
    if (!node) return result;
    const auto hint = [](std::string_view name) { return fmt::format("begin each entry with [[{}]]", name); };
    if (!node.is(TomlKind::list) || node.size() > max_entries) {
        fault(key, "wrong_type",
              node.is(TomlKind::list)
                  ? fmt::format("{} has {} entries, more than {}", of(key), node.size(), max_entries)
                  : fmt::format("{} must be a list of tables, not {}", of(key), kind_of(node)),
              hint(key));
        return result;
    }
    const std::string what = "[[" + std::string(key) + "]]";
    for (const TomlNode item : node) {
        if (wanted && !wanted(item)) continue;
        if (check_table(item, key, hint)) result.emplace_back(item, what, problems_, citations_);
    }
    return result;
}

std::vector<std::pair<std::string, Reader>> Reader::members() {
    std::vector<std::pair<std::string, Reader>> result;
    for (const TomlNode node : table_) {
        if (auto reader = inner(node.key())) result.emplace_back(std::string(node.key()), std::move(*reader));
    }
    return result;
}

void Reader::finish() {
    for (std::size_t i = 0; i < asked_.size(); ++i) {
        const TomlNode node = table_[i];
        if (asked_[i] || !problems_.earlier(node.key_place())) continue;
        const std::vector<std::string> known = different_lines(known_);
        problems_.add(node.key_place(), "unknown_key",
                      what_.empty() ? fmt::format("a machine file has no key {}", in_ticks(node.key()))
                                    : fmt::format("{} has no key {}", what_, in_ticks(node.key())),
                      did_you_mean(node.key(), known, fmt::format("known here: {}", fmt::join(known, ", "))));
    }
}

}  // namespace roofline::core
