#include "import/json_value.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <set>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "notation/source.hpp"

namespace roofline {

namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20U;
constexpr int deepest = 64;
constexpr std::size_t most_values = 1'000'000;

void append_utf8(std::string& out, std::uint32_t code) {
    const auto byte = [&](std::uint32_t value) { out += static_cast<char>(static_cast<unsigned char>(value)); };
    if (code < 0x80) {
        byte(code);
    } else if (code < 0x800) {
        byte(0xC0U | (code >> 6U));
        byte(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
        byte(0xE0U | (code >> 12U));
        byte(0x80U | ((code >> 6U) & 0x3FU));
        byte(0x80U | (code & 0x3FU));
    } else {
        byte(0xF0U | (code >> 18U));
        byte(0x80U | ((code >> 12U) & 0x3FU));
        byte(0x80U | ((code >> 6U) & 0x3FU));
        byte(0x80U | (code & 0x3FU));
    }
}

class JsonReader {
public:
    JsonReader(std::string_view text, const Source& source) : text_(text), source_(source) {}

    Result<ConfigValue> run() {
        auto value = this->value(0);
        if (!value) return value;
        blanks();
        if (at_ < text_.size()) return wrong("the file goes on after its end");
        return value;
    }

private:
    [[nodiscard]] tl::unexpected<Error> wrong(std::string_view what, std::string_view hint = {}) const {
        return source_.fail_at(source_.span(std::min(at_, text_.size())), "json",
                               fmt::format("this is not JSON: {}", what), std::string(hint));
    }

    void blanks() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
            ++at_;
        }
    }

    bool accept(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }

    Result<ConfigValue> value(int depth) {
        if (depth > deepest) {
            return source_.fail_at(source_.span(at_), "too_deep", fmt::format("nested more than {} deep", deepest));
        }
        if (++values_ > most_values) return wrong(fmt::format("more than {} values", most_values));
        blanks();
        if (at_ == text_.size()) return wrong("it ends where a value was expected", "the file may have been cut off");
        const char c = text_[at_];
        if (c == '{') return table(depth);
        if (c == '[') return list(depth);
        ConfigValue value;
        if (c == '"') {
            auto text = this->text();
            if (!text) return fail(text.error());
            value.kind = ConfigValue::Kind::text;
            value.text = std::move(*text);
            return value;
        }
        if (accept("null")) return value;
        if (const bool yes = accept("true"); yes || accept("false")) {
            value.kind = ConfigValue::Kind::boolean;
            value.boolean = yes;
            return value;
        }
        return number();
    }

    Result<ConfigValue> number() {
        ConfigValue value;
        value.kind = ConfigValue::Kind::real;
        if (accept("NaN")) {
            value.real = std::numeric_limits<double>::quiet_NaN();
            return value;
        }
        if (accept("Infinity")) {
            value.real = std::numeric_limits<double>::infinity();
            return value;
        }
        if (accept("-Infinity")) {
            value.real = -std::numeric_limits<double>::infinity();
            return value;
        }
        std::size_t end = at_;
        bool whole = true;
        while (end < text_.size()) {
            const char c = text_[end];
            const bool sign = (c == '-' || c == '+');
            if (!is_digit(c) && !sign && c != '.' && c != 'e' && c != 'E') break;
            whole = whole && (is_digit(c) || (sign && end == at_));
            ++end;
        }
        const char* first = text_.data() + at_;
        const char* last = text_.data() + end;
        const std::size_t digits = at_ + (first != last && *first == '-' ? 1 : 0);
        const bool leading = digits + 1 < end && text_[digits] == '0' && is_digit(text_[digits + 1]);
        const std::size_t point = text_.substr(at_, end - at_).find('.');
        const bool bare =
            point != std::string_view::npos && (at_ + point + 1 >= end || !is_digit(text_[at_ + point + 1]));
        if (digits >= end || !is_digit(text_[digits]) || leading || bare) return wrong("a value was expected");
        if (whole) {
            const auto [rest, error] = std::from_chars(first, last, value.whole);
            if (error == std::errc{} && rest == last) {
                value.kind = ConfigValue::Kind::whole;
                value.real = static_cast<double>(value.whole);
                at_ = end;
                return value;
            }
        }
        const auto [rest, error] = std::from_chars(first, last, value.real);
        if (error == std::errc::result_out_of_range) return wrong("a number beyond what can be held");
        if (error != std::errc{} || rest != last) return wrong("a number was expected");
        at_ = end;
        return value;
    }

    Result<std::uint32_t> four_digits() {
        std::uint32_t code = 0;
        const std::string_view digits = text_.substr(at_, 4);
        const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (digits.size() < 4 || error != std::errc{} || rest != digits.data() + 4)
            return wrong("four hexadecimal digits were expected");
        at_ += 4;
        return code;
    }

    Status escape(std::string& out) {
        if (at_ == text_.size()) return wrong("a text has no end");
        const char c = text_[at_++];
        constexpr std::string_view letters = "\"\\/bfnrt";
        constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
        if (const std::size_t place = letters.find(c); place != std::string_view::npos) {
            out += meanings[place];
            return {};
        }
        if (c != 'u') return wrong("no such escape");
        auto code = four_digits();
        if (!code) return fail(code.error());
        if (*code >= 0xD800 && *code < 0xDC00 && accept("\\u")) {
            auto low = four_digits();
            if (!low) return fail(low.error());
            if (*low < 0xDC00 || *low > 0xDFFF) return wrong("half of a character");
            append_utf8(out, 0x10000 + ((*code - 0xD800) << 10U) + (*low - 0xDC00));
            return {};
        }
        if (*code >= 0xD800 && *code <= 0xDFFF) return wrong("half of a character");
        append_utf8(out, *code);
        return {};
    }

    Result<std::string> text() {
        ++at_;
        std::string out;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"') {
                ++at_;
                return out;
            }
            if (c == '\\') {
                ++at_;
                if (auto status = escape(out); !status) return fail(status.error());
                continue;
            }
            const CodePoint code = decode_utf8(text_.substr(at_));
            if (!code.valid) return wrong("a byte that is not UTF-8");
            if (code.value < 0x20) return wrong("a text goes on in the next line");
            out += text_.substr(at_, code.length);
            at_ += code.length;
        }
        return wrong("a text has no end", "the file may have been cut off");
    }

    Result<ConfigValue> list(int depth) {
        ++at_;
        ConfigValue list;
        list.kind = ConfigValue::Kind::list;
        blanks();
        if (accept("]")) return list;
        while (true) {
            auto item = value(depth + 1);
            if (!item) return item;
            list.items.push_back(std::move(*item));
            blanks();
            if (accept("]")) return list;
            if (!accept(","))
                return wrong("`,` or `]` was expected", at_ == text_.size() ? "the file may have been cut off" : "");
        }
    }

    Result<ConfigValue> table(int depth) {
        ++at_;
        ConfigValue table;
        table.kind = ConfigValue::Kind::table;
        std::set<std::string> keys;
        blanks();
        if (accept("}")) return table;
        while (true) {
            blanks();
            if (at_ == text_.size() || text_[at_] != '"')
                return wrong("a key in quotes was expected",
                             at_ == text_.size() ? "the file may have been cut off" : "");
            const std::size_t begin = at_;
            auto key = text();
            if (!key) return fail(key.error());
            if (!keys.insert(*key).second) {
                return source_.fail_at(source_.span(begin), "defined_twice",
                                       fmt::format("the key {} stands twice in one table", quoted(*key)),
                                       "keep one of them");
            }
            blanks();
            if (!accept(":")) return wrong("`:` was expected");
            auto member = value(depth + 1);
            if (!member) return member;
            table.members.emplace_back(std::move(*key), std::move(*member));
            blanks();
            if (accept("}")) return table;
            if (!accept(","))
                return wrong("`,` or `}` was expected", at_ == text_.size() ? "the file may have been cut off" : "");
        }
    }

    std::string_view text_;
    const Source& source_;
    std::size_t at_ = 0;
    std::size_t values_ = 0;
};

}  // namespace

Result<ConfigValue> parse_json(std::string_view text, std::string_view origin) {
    if (text.size() > most_bytes) {
        return fail("too_large", fmt::format("the file has {} bytes; {} is the most", text.size(), most_bytes));
    }
    const Source source(text, std::string(origin));
    return JsonReader(text, source).run();
}

}  // namespace roofline
