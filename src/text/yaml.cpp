#include "text/yaml.hpp"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "text/source.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_yaml_bytes = std::size_t{1} << 20U;
constexpr std::size_t deepest_yaml = 64;
constexpr std::size_t max_yaml_values = 100'000;

/// Bytes of characters, which are asked for in their order.
class CharacterOffsets {
public:
    explicit CharacterOffsets(std::string_view text) : text_(text) {}

    std::size_t byte_of(std::size_t character) {
        while (at_ < character && byte_ < text_.size()) {
            byte_ += std::max<std::size_t>(decode_utf8(text_.substr(byte_)).length, 1);
            ++at_;
        }
        return byte_;
    }

private:
    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t byte_ = 0;
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

template <class Number>
bool whole_text_is(std::string_view text, Number& number) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

bool looks_like_number(std::string_view word) {
    const std::size_t sign = word.starts_with('-') || word.starts_with('+') ? 1 : 0;
    if (word.size() <= sign || !(is_digit(word[sign]) || word[sign] == '.')) return false;
    const bool octal = word.size() > sign + 1 && word[sign] == '0' && is_digit(word[sign + 1]);
    return !octal && word.find_first_not_of("0123456789+-._eE") == std::string_view::npos;
}

// A word without quotes.
FileValue plain_value(std::string_view word) {
    FileValue value;
    if (is_one_of(word, {"", "~", "null", "Null", "NULL"})) return value;
    const bool is_true = is_one_of(word, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"});
    if (is_true || is_one_of(word, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) {
        value.kind = FileValue::Kind::boolean;
        value.boolean = is_true;
        value.real = is_true ? 1 : 0;
        return value;
    }
    if (looks_like_number(word)) {
        std::string digits(word);
        std::erase(digits, '_');
        if (whole_text_is(digits, value.whole)) {
            value.kind = FileValue::Kind::whole;
            value.real = static_cast<double>(value.whole);
            return value;
        }
        if (whole_text_is(digits, value.real) && std::isfinite(value.real)) {
            value.kind = FileValue::Kind::real;
            return value;
        }
        value = {};
    }
    value.kind = FileValue::Kind::text;
    value.text = word;
    return value;
}

struct YamlEvent {
    yaml_event_t event{};
    YamlEvent() = default;
    YamlEvent(const YamlEvent&) = delete;
    YamlEvent& operator=(const YamlEvent&) = delete;
    YamlEvent(YamlEvent&&) = delete;
    YamlEvent& operator=(YamlEvent&&) = delete;
    ~YamlEvent() { yaml_event_delete(&event); }

    [[nodiscard]] bool is(yaml_event_type_t type) const { return event.type == type; }
    [[nodiscard]] std::string_view scalar() const {
        return {reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length};
    }
};

class YamlReader {
public:
    explicit YamlReader(const Source& source) : source_(source), offsets_(source.text()) {
        ready_ = yaml_parser_initialize(&parser_) != 0;
        if (!ready_) return;
        yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
        const std::string_view text = source.text();
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    }
    YamlReader(const YamlReader&) = delete;
    YamlReader& operator=(const YamlReader&) = delete;
    YamlReader(YamlReader&&) = delete;
    YamlReader& operator=(YamlReader&&) = delete;
    ~YamlReader() {
        if (ready_) yaml_parser_delete(&parser_);
    }

    Result<FileValue> read() {
        if (!ready_) return fail("too_large", "there is no memory for the parser of YAML");
        FileValue root;
        root.kind = FileValue::Kind::table;
        {
            YamlEvent start;
            ROOFLINE_CHECK(next(start));
        }
        YamlEvent document;
        ROOFLINE_CHECK(next(document));
        if (document.is(YAML_STREAM_END_EVENT)) return root;
        YamlEvent first;
        ROOFLINE_CHECK(next(first));
        ROOFLINE_TRY(root, value_of(first, 0));
        YamlEvent end;
        ROOFLINE_CHECK(next(end));
        YamlEvent after;
        ROOFLINE_CHECK(next(after));
        if (!after.is(YAML_STREAM_END_EVENT)) {
            return fail_here(after, "bad_yaml", "a second document begins here",
                             "leave only the one that configures the run");
        }
        if (root.is(FileValue::Kind::null)) root.kind = FileValue::Kind::table;
        return root;
    }

private:
    std::size_t offset_of(const YamlEvent& at) { return offsets_.byte_of(at.event.start_mark.index); }

    tl::unexpected<Error> fail_here(const YamlEvent& at, std::string code, std::string message, std::string hint) {
        return source_.fail_at(source_.span(offset_of(at)), std::move(code), std::move(message), std::move(hint));
    }

    Status next(YamlEvent& into) {
        if (yaml_parser_parse(&parser_, &into.event) != 0) return {};
        const bool not_text = parser_.error == YAML_READER_ERROR;
        const std::size_t at = not_text ? parser_.problem_offset : offsets_.byte_of(parser_.problem_mark.index);
        const char* const problem = parser_.problem != nullptr ? parser_.problem : "it cannot be read";
        return source_.fail_at(source_.span(std::min(at, source_.text().size())), "bad_yaml",
                               fmt::format("this is not YAML: {}", problem), "");
    }

    Status check_node(const YamlEvent& event, const yaml_char_t* tag) {
        if (event.is(YAML_ALIAS_EVENT)) {
            return fail_here(event, "no_alias", "aliases are not read", "write the value itself here");
        }
        if (tag != nullptr) {
            return fail_here(event, "no_tag", "tags are not read", "remove the word that begins with `!`");
        }
        if (++values_ > max_yaml_values) {
            return fail_here(event, "too_large", fmt::format("more than {} values", max_yaml_values),
                             "give the file that configures the run");
        }
        return {};
    }

    Result<FileValue> value_of(const YamlEvent& event, std::size_t depth) {
        if (depth > deepest_yaml) {
            return fail_here(event, "too_deep", fmt::format("nested deeper than {} levels", deepest_yaml),
                             "no configuration needs that");
        }
        FileValue value;
        switch (event.event.type) {
            case YAML_SCALAR_EVENT: {
                ROOFLINE_CHECK(check_node(event, event.event.data.scalar.tag));
                const bool plain = event.event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
                if (plain) {
                    value = plain_value(event.scalar());
                } else {
                    value.kind = FileValue::Kind::text;
                    value.text = event.scalar();
                }
                value.offset = offset_of(event);
                return value;
            }
            case YAML_SEQUENCE_START_EVENT:
                ROOFLINE_CHECK(check_node(event, event.event.data.sequence_start.tag));
                return list_of(event, depth);
            case YAML_MAPPING_START_EVENT:
                ROOFLINE_CHECK(check_node(event, event.event.data.mapping_start.tag));
                return table_of(event, depth);
            default:
                break;
        }
        ROOFLINE_CHECK(check_node(event, nullptr));
        return fail_here(event, "bad_yaml", "a value is missing here", "");
    }

    Result<FileValue> list_of(const YamlEvent& start, std::size_t depth) {
        FileValue list;
        list.kind = FileValue::Kind::list;
        list.offset = offset_of(start);
        while (true) {
            YamlEvent event;
            ROOFLINE_CHECK(next(event));
            if (event.is(YAML_SEQUENCE_END_EVENT)) return list;
            ROOFLINE_TRY(auto item, value_of(event, depth + 1));
            list.items.push_back(std::move(item));
        }
    }

    Result<FileValue> table_of(const YamlEvent& start, std::size_t depth) {
        FileValue table;
        table.kind = FileValue::Kind::table;
        table.offset = offset_of(start);
        std::set<std::string, std::less<>> keys;
        while (true) {
            YamlEvent event;
            ROOFLINE_CHECK(next(event));
            if (event.is(YAML_MAPPING_END_EVENT)) return table;
            ROOFLINE_CHECK(check_node(event, event.is(YAML_SCALAR_EVENT) ? event.event.data.scalar.tag : nullptr));
            if (!event.is(YAML_SCALAR_EVENT)) {
                return fail_here(event, "bad_yaml", "a key must be a word", "write `key: value`");
            }
            const std::string key(event.scalar());
            if (!keys.insert(key).second) {
                return fail_here(event, "defined_twice", fmt::format("the key `{}` occurs twice", key.substr(0, 60)),
                                 "keep one of them");
            }
            YamlEvent inner;
            ROOFLINE_CHECK(next(inner));
            ROOFLINE_TRY(auto value, value_of(inner, depth + 1));
            table.members.emplace_back(key, std::move(value));
        }
    }

    const Source& source_;
    CharacterOffsets offsets_;
    yaml_parser_t parser_{};
    bool ready_ = false;
    std::size_t values_ = 0;
};

}  // namespace

Result<FileValue> parse_yaml(std::string_view text, std::string_view origin) {
    if (text.size() > max_yaml_bytes) {
        return fail("too_large", fmt::format("{}: {} bytes are no configuration", origin, text.size()),
                    "give the file that configures the run, of at most 1 MiB");
    }
    const Source source(text, std::string(origin));
    return YamlReader(source).read();
}

}  // namespace roofline::core
