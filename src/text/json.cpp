#include "text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/ascii.hpp"
#include "text/source.hpp"

namespace roofline::core {

namespace {

using Json = nlohmann::json;
constexpr std::size_t max_bytes = std::size_t{64} << 20U;
constexpr std::size_t deepest_nesting = 64;
constexpr std::size_t max_values = 1'000'000;

/// Passes bytes to the parser and records how many it has taken.
class Taken {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    Taken(const char* at, const char** taken) : at_(at), taken_(taken) {}
    reference operator*() const { return *at_; }
    Taken& operator++() {
        *taken_ = ++at_;
        return *this;
    }
    Taken operator++(int) {
        Taken before = *this;
        ++*this;
        return before;
    }
    bool operator==(const Taken& other) const { return at_ == other.at_; }
    bool operator!=(const Taken& other) const { return at_ != other.at_; }

private:
    const char* at_;
    const char** taken_;
};

/// Replaces Python's NaN and Infinity by numbers of the same length, which the parser accepts; their positions tell
/// which they were. Returns "" when there are none.
std::string with_plain_numbers(std::string_view text) {
    constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"NaN", "100"}, {"Infinity", "10000000"}, {"-Infinity", "-10000000"}};
    std::string plain;
    bool inside = false;  // inside a string
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (inside && text[i] == '\\') {
            ++i;
        } else if (text[i] == '"') {
            inside = !inside;
        } else if (!inside && (text[i] == 'N' || text[i] == 'I' || text[i] == '-')) {
            if (i > 0 && std::string_view(" \t\r\n,:[").find(text[i - 1]) == std::string_view::npos) continue;
            for (const auto& [word, number] : words) {
                const std::size_t end = i + word.size();
                if (!text.substr(i).starts_with(word)) continue;
                if (end < text.size() && std::string_view(" \t\r\n,]}").find(text[end]) == std::string_view::npos) {
                    continue;
                }
                if (plain.empty()) plain = text;
                plain.replace(i, word.size(), number);
            }
        }
    }
    return plain;
}

/// Builds values from the parser's events.
class ValueBuilder : public nlohmann::json_sax<Json> {
public:
    /// `text` is the text of the file; the parser has consumed `taken` bytes of `parsed`.
    ValueBuilder(std::string_view text, std::string_view parsed, const char* const* taken)
        : text_(text), parsed_(parsed), taken_(taken) {}

    bool null() override { return add(FileValue::Kind::null, word_start()) != nullptr; }
    bool boolean(bool value) override {
        FileValue* made = add(FileValue::Kind::boolean, word_start());
        if (made == nullptr) return false;
        made->boolean = value;
        made->real = value ? 1 : 0;
        return true;
    }
    bool number_integer(number_integer_t value) override {
        const std::size_t start = word_start();
        if (text_[start] == 'N') return real(std::numeric_limits<double>::quiet_NaN(), start);
        if (text_[start] == 'I') return real(std::numeric_limits<double>::infinity(), start);
        if (text_.substr(start).starts_with("-I")) return real(-std::numeric_limits<double>::infinity(), start);
        FileValue* made = add(FileValue::Kind::whole, start);
        if (made == nullptr) return false;
        made->whole = value;
        made->real = static_cast<double>(value);
        return true;
    }
    bool number_unsigned(number_unsigned_t value) override {
        constexpr auto most = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
        return value > most ? real(static_cast<double>(value), word_start())
                            : number_integer(static_cast<number_integer_t>(value));
    }
    bool number_float(number_float_t value, const string_t& digits) override {
        static_cast<void>(digits);
        return real(value, word_start());
    }
    bool string(string_t& value) override {
        FileValue* made = add(FileValue::Kind::text, quote_start());
        if (made != nullptr) made->text = std::move(value);
        return made != nullptr;
    }
    bool binary(binary_t& value) override {
        static_cast<void>(value);
        return false;
    }
    bool start_object(std::size_t size) override {
        static_cast<void>(size);
        return open(FileValue::Kind::table);
    }
    bool start_array(std::size_t size) override {
        static_cast<void>(size);
        return open(FileValue::Kind::list);
    }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        if (!open_.back().keys.insert(name).second) {
            return refuse(quote_start(), "defined_twice",
                          fmt::format("the key {} occurs twice in one object", roofline::core::in_ticks(name)),
                          "remove one of them");
        }
        name_ = std::move(name);
        return true;
    }
    bool parse_error(std::size_t position, const std::string& last,
                     const nlohmann::detail::exception& problem) override {
        constexpr int number_overflow = 406;
        const std::size_t at = position == 0 ? 0 : position - 1;
        if (problem.id == number_overflow) return refuse(at, "bad_number", "the number is too large");
        if (position > text_.size() || trimmed(text_.substr(position)).empty()) {
            // The parser may also stop at the last byte because that byte is wrong; then the text is not cut off.
            if (position > text_.size() || last.empty()) return cut_off();
        }
        constexpr std::size_t shown = 40;
        const std::string tail = last.size() > shown ? last.substr(last.size() - shown) : last;
        return refuse(at, "bad_json",
                      fmt::format("this is not JSON: {}{}", what_was_wrong(problem.what()),
                                  last.empty() ? "" : fmt::format(", at {}", roofline::core::in_ticks(tail))));
    }

    FileValue root;
    Error error;
    std::size_t error_offset = 0;

private:
    struct Open {
        FileValue* value;            ///< stays valid: the list of a value only grows while nothing inside it is open
        std::set<std::string> keys;  ///< of an object, so far
    };

    /// Returns "expected end of input" from the parser's "[...] syntax error while parsing value - unexpected '2';
    /// expected end of input".
    static std::string what_was_wrong(std::string_view message) {
        if (const std::size_t dash = message.find(" - "); dash != std::string_view::npos)
            message.remove_prefix(dash + 3);
        message = message.substr(0, message.find("; last read"));
        if (const std::size_t wanted = message.find("; expected "); wanted != std::string_view::npos) {
            message.remove_prefix(wanted + 2);
        }
        return std::string(message);
    }

    bool cut_off() {
        return refuse(text_.size(), "cut_off",
                      trimmed(text_).empty() ? "the file is empty" : "the file ends in the middle of its JSON",
                      "it may be incomplete: was the program that wrote it interrupted?");
    }

    [[nodiscard]] std::size_t taken() const {
        return std::min(static_cast<std::size_t>(*taken_ - parsed_.data()), parsed_.size());
    }
    /// The start of a number, true, false or null that the parser has just read, possibly with the byte after it.
    [[nodiscard]] std::size_t word_start() const {
        const auto of_word = [&](std::size_t i) {
            const char c = parsed_[i];
            return is_digit(c) || (c >= 'a' && c <= 'z') || c == 'E' || c == '+' || c == '-' || c == '.';
        };
        std::size_t end = taken();
        while (end > 0 && !of_word(end - 1)) --end;
        while (end > 0 && of_word(end - 1)) --end;
        return end;
    }
    /// The start of a string whose closing quote has just been read.
    [[nodiscard]] std::size_t quote_start() const {
        std::size_t at = taken();
        if (at < 2) return 0;
        for (at -= 2; at > 0; --at) {
            if (parsed_[at] != '"') continue;
            std::size_t slashes = 0;
            while (slashes < at && parsed_[at - 1 - slashes] == '\\') ++slashes;
            if (slashes % 2 == 0) break;
        }
        return at;
    }
    bool refuse(std::size_t offset, std::string code, std::string message, std::string hint = {}) {
        error = Error{std::move(code), std::move(message), std::move(hint), {}};
        error_offset = offset;
        return false;
    }
    FileValue* add(FileValue::Kind kind, std::size_t offset) {
        if (++values_ > max_values) {
            refuse(offset, "too_large", fmt::format("the file has more than {} values", max_values));
            return nullptr;
        }
        FileValue* made = &root;
        if (!open_.empty()) {
            FileValue& around = *open_.back().value;
            made = around.kind == FileValue::Kind::table
                       ? &around.members.emplace_back(std::move(name_), FileValue{}).second
                       : &around.items.emplace_back();
        }
        made->kind = kind;
        made->offset = offset;
        return made;
    }
    bool real(double value, std::size_t offset) {
        FileValue* made = add(FileValue::Kind::real, offset);
        if (made != nullptr) made->real = value;
        return made != nullptr;
    }
    bool open(FileValue::Kind kind) {
        const std::size_t offset = taken() == 0 ? 0 : taken() - 1;
        if (open_.size() == deepest_nesting) {
            return refuse(offset, "too_deep", fmt::format("there are more than {} levels of nesting", deepest_nesting));
        }
        FileValue* made = add(kind, offset);
        if (made != nullptr) open_.push_back({made, {}});
        return made != nullptr;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    std::string_view text_;
    std::string_view parsed_;
    const char* const* taken_;
    std::vector<Open> open_;
    std::string name_;
    std::size_t values_ = 0;
};

}  // namespace

Result<FileValue> parse_json(std::string_view text, std::string_view origin) {
    if (text.size() > max_bytes) {
        return fail("too_large", fmt::format("the file has {} bytes; the maximum is {}", text.size(), max_bytes));
    }
    const std::string plain = with_plain_numbers(text);
    const std::string_view parsed = plain.empty() ? text : plain;
    const char* taken = parsed.data();
    ValueBuilder builder(text, parsed, &taken);
    if (Json::sax_parse(Taken(parsed.data(), &taken), Taken(parsed.data() + parsed.size(), &taken), &builder)) {
        return std::move(builder.root);
    }
    const Source place(text, std::string(origin));
    return place.fail_at(place.span(std::min(builder.error_offset, text.size())), builder.error.code,
                         builder.error.message, builder.error.hint);
}

}  // namespace roofline::core
