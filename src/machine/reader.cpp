#include "machine/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "machine/embedded.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t longest_text = 10'000;
constexpr std::size_t max_entries = 256;

std::string kind_of(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::table:
            return "a table";
        case toml::node_type::array:
            return "a list";
        case toml::node_type::string:
            return "a string";
        case toml::node_type::integer:
            return "a whole number";
        case toml::node_type::floating_point:
            return "a number";
        case toml::node_type::boolean:
            return "true or false";
        default:
            return "a date or time";
    }
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

}  // namespace

bool Problems::earlier(toml::source_position at) const {
    if (!first_) return true;
    return at.line != first_->at.line ? at.line < first_->at.line : at.column < first_->at.column;
}

void Problems::add(toml::source_position at, std::string code, std::string message, std::string hint) {
    if (earlier(at)) first_ = {at, std::move(code), std::move(message), std::move(hint)};
}

std::string Citations::resolve(std::string_view source) const {
    for (const auto& [key, citation] : own_) {
        if (key == source) return citation;
    }
    for (const EmbeddedSource& known : embedded_sources()) {
        if (known.key == source) return std::string(known.citation);
    }
    return std::string(source);
}

Reader::Reader(const toml::table& table, std::string what, Problems& problems, const Citations& citations)
    : table_(table), what_(std::move(what)), problems_(problems), citations_(citations) {}

const toml::node* Reader::find(std::string_view key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
    return table_.get(key);
}

std::string Reader::of(std::string_view key) const {
    return what_.empty() ? in_ticks(key) : fmt::format("{} of {}", in_ticks(key), what_);
}

void Reader::fault(std::string_view key, std::string code, std::string message, std::string hint) {
    const toml::node* node = table_.get(key);
    problems_.add((node != nullptr ? node->source() : table_.source()).begin, std::move(code), std::move(message),
                  std::move(hint));
}

std::optional<std::string> Reader::string_of(const toml::node& node, std::string_view key) {
    const auto* text = node.as_string();
    if (text == nullptr) {
        problems_.add(node.source().begin, "wrong_type",
                      fmt::format("{} must be a string, not {}", of(key), kind_of(node)), "write it in double quotes");
        return std::nullopt;
    }
    if (text->get().size() > longest_text) {
        problems_.add(node.source().begin, "too_large", fmt::format("{} has {} bytes", of(key), text->get().size()),
                      fmt::format("the limit is {}", longest_text));
        return std::nullopt;
    }
    auto line = one_line(text->get());
    if (!line) {
        problems_.add(node.source().begin, "not_text", fmt::format("{} contains control characters", of(key)),
                      "remove them");
    }
    return line;
}

std::string Reader::text(std::string_view key) {
    const toml::node* node = find(key);
    return node != nullptr ? string_of(*node, key).value_or("") : "";
}

std::string Reader::required_text(std::string_view key) {
    const std::string result = text(key);
    if (!has(key)) {
        fault(key, "missing_key", fmt::format("{} is missing", of(key)), fmt::format("add {} = \"...\"", key));
    } else if (result.empty() && table_.get(key)->is_string()) {
        fault(key, "out_of_range", fmt::format("{} is empty", of(key)));
    }
    return result;
}

std::string Reader::choice(std::string_view key, const std::vector<std::string>& choices) {
    const std::string given = text(key);
    if (given.empty() && !has(key)) return choices.front();
    if (std::find(choices.begin(), choices.end(), given) != choices.end()) return given;
    if (table_.get(key)->is_string()) {
        fault(key, "unknown_value", fmt::format("{} cannot be {}", of(key), in_ticks(given)),
              did_you_mean(given, choices, fmt::format("one of: {}", fmt::join(choices, ", "))));
    }
    return choices.front();
}

std::vector<std::string> Reader::texts(std::string_view key) {
    std::vector<std::string> result;
    const toml::node* node = find(key);
    if (node == nullptr) return result;
    const toml::array* list = node->as_array();
    if (list == nullptr || list->size() > max_entries) {
        fault(key, "wrong_type", fmt::format("{} must be a list of at most {} strings", of(key), max_entries),
              "[\"A\", \"B\"]");
        return result;
    }
    for (const toml::node& item : *list) {
        if (auto text = string_of(item, key)) result.push_back(std::move(*text));
    }
    return result;
}

std::int64_t Reader::whole(std::string_view key, std::int64_t least, std::int64_t most, std::int64_t otherwise) {
    const toml::node* node = find(key);
    if (node == nullptr) return otherwise;
    const auto* number = node->as_integer();
    if (number == nullptr || number->get() < least || number->get() > most) {
        fault(key, number == nullptr ? "wrong_type" : "out_of_range",
              fmt::format("{} must be a whole number from {} to {}", of(key), least, most));
        return otherwise;
    }
    return number->get();
}

std::vector<std::int64_t> Reader::shape(std::string_view key) {
    constexpr std::int64_t max_chips = 1'000'000'000;
    std::vector<std::int64_t> result;
    const toml::node* node = find(key);
    if (node == nullptr) return result;
    const toml::array* list = node->as_array();
    std::int64_t chips = 1;
    bool good = list != nullptr && !list->empty() && list->size() <= 6;
    for (std::size_t i = 0; good && i < list->size(); ++i) {
        const auto size = (*list)[i].value_exact<std::int64_t>();
        good = size && *size >= 1 && *size <= max_chips / chips;
        if (good) result.push_back(*size);
        if (good) chips *= *size;
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
    const toml::node* node = find(key);
    if (node == nullptr) return result;
    const toml::array* list = node->as_array();
    bool good = list != nullptr && list->size() <= max_entries;
    for (std::size_t i = 0; good && i < list->size(); ++i) {
        const auto number = (*list)[i].value_exact<std::int64_t>();
        good = number && *number >= 1 && *number <= most;
        if (good) result.push_back(*number);
    }
    if (good) return result;
    fault(key, "wrong_type", fmt::format("{} must be a list of whole numbers from 1 to {}", of(key), most));
    return {};
}

std::vector<double> Reader::numbers(std::string_view key) {
    std::vector<double> result;
    const toml::node* node = find(key);
    if (node == nullptr) return result;
    const auto take = [&](const toml::node& item) {
        const auto number = item.is_number() ? item.value<double>() : std::nullopt;
        if (!number || !std::isfinite(*number) || *number <= 0 || *number > 1e9) {
            problems_.add(item.source().begin, "out_of_range",
                          fmt::format("{} must be a number between 0 and 1e9", of(key)));
        } else {
            result.push_back(*number);
        }
    };
    const toml::array* list = node->as_array();
    if (list == nullptr) {
        take(*node);
    } else if (list->empty() || list->size() > 2) {
        fault(key, "wrong_type", fmt::format("{} must be one number or a range of two", of(key)), "[3.5, 5.0]");
    } else {
        for (const toml::node& item : *list) take(item);
    }
    return result;
}

bool Reader::flag(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) return false;
    if (!node->is_boolean()) {
        fault(key, "wrong_type", fmt::format("{} must be true or false, not {}", of(key), kind_of(*node)));
        return false;
    }
    return node->as_boolean()->get();
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
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    const bool figure = key != "host" && key != "matrix_unit" && key != "sources" && key != "measured";
    const toml::table* table = as_table(*node, key,
                                        figure ? fmt::format("write {} = {{ value = \"...\", source = \"...\" }}", key)
                                               : fmt::format("begin it with [{}]", key));
    if (table == nullptr) return std::nullopt;
    std::string path(key);
    if (!what_.empty() && what_.find('`') == std::string::npos) {
        path = what_.substr(what_.find_first_not_of('['), what_.find(']') - what_.find_first_not_of('[')) + "." + path;
    }
    const std::string cut = in_ticks(path);
    return Reader(*table, fmt::format("[{}]", cut.substr(1, cut.size() - 2)), problems_, citations_);
}

const toml::table* Reader::as_table(const toml::node& node, std::string_view key, std::string hint) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
        problems_.add(node.source().begin, "wrong_type",
                      fmt::format("{} must be a table, not {}", of(key), kind_of(node)), std::move(hint));
    }
    return table;
}

std::vector<Reader> Reader::each(std::string_view key) {
    std::vector<Reader> result;
    const toml::node* node = find(key);
    if (node == nullptr) return result;
    const toml::array* list = node->as_array();
    if (list == nullptr || list->size() > max_entries) {
        fault(key, "wrong_type",
              list == nullptr ? fmt::format("{} must be a list of tables, not {}", of(key), kind_of(*node))
                              : fmt::format("{} has {} entries, more than {}", of(key), list->size(), max_entries),
              fmt::format("begin each entry with [[{}]]", key));
        return result;
    }
    for (const toml::node& item : *list) {
        if (const toml::table* table = as_table(item, key, fmt::format("begin each entry with [[{}]]", key))) {
            result.emplace_back(*table, fmt::format("[[{}]]", key), problems_, citations_);
        }
    }
    return result;
}

std::vector<std::pair<std::string, Reader>> Reader::members() {
    std::vector<std::pair<std::string, Reader>> result;
    for (const auto& [key, node] : table_) {
        if (auto reader = inner(key.str())) result.emplace_back(std::string(key.str()), std::move(*reader));
    }
    return result;
}

void Reader::finish() {
    for (const auto& [key, node] : table_) {
        if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
        if (!problems_.earlier(key.source().begin)) continue;
        problems_.add(key.source().begin, "unknown_key",
                      what_.empty() ? fmt::format("a machine file has no key {}", in_ticks(key.str()))
                                    : fmt::format("{} has no key {}", what_, in_ticks(key.str())),
                      did_you_mean(key.str(), known_, fmt::format("known here: {}", fmt::join(known_, ", "))));
    }
}

}  // namespace roofline::core
