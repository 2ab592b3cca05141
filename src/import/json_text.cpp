#include "import/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/ascii.hpp"
#include "notation/source.hpp"

namespace roofline {

namespace {

using Json = nlohmann::json;
constexpr std::size_t deepest = 64;

/// Hands bytes to the parser and tells how many it has taken.
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

/// Builds nodes from the parser's events.
class NodeBuilder : public nlohmann::json_sax<Json> {
public:
    NodeBuilder(std::string_view text, const char* const* taken) : text_(text), taken_(taken) {}

    bool null() override { return add(JsonNode::Kind::null, word_start()) != nullptr; }
    bool boolean(bool value) override { return set_number(JsonNode::Kind::boolean, value ? 1 : 0, word_start()); }
    bool number_integer(number_integer_t value) override {
        return set_number(JsonNode::Kind::number, static_cast<double>(value), word_start());
    }
    bool number_unsigned(number_unsigned_t value) override {
        return set_number(JsonNode::Kind::number, static_cast<double>(value), word_start());
    }
    bool number_float(number_float_t value, const string_t& digits) override {
        static_cast<void>(digits);
        return set_number(JsonNode::Kind::number, value, word_start());
    }
    bool string(string_t& value) override {
        JsonNode* node = add(JsonNode::Kind::text, quote_start());
        if (node != nullptr) node->text = std::move(value);
        return node != nullptr;
    }
    bool binary(binary_t& value) override {
        static_cast<void>(value);
        return false;
    }
    bool start_object(std::size_t size) override {
        static_cast<void>(size);
        return open(JsonNode::Kind::object);
    }
    bool start_array(std::size_t size) override {
        static_cast<void>(size);
        return open(JsonNode::Kind::list);
    }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        JsonNode& object = *open_.back();
        if (object.names.size() < few && object.find(name) != nullptr) {
            return refuse(quote_start(), "bad_json", fmt::format("the name {} stands twice", roofline::quoted(name)));
        }
        name_ = std::move(name);
        return true;
    }
    bool parse_error(std::size_t position, const std::string& last,
                     const nlohmann::detail::exception& problem) override {
        static_cast<void>(problem);
        if (position > text_.size() || trimmed(text_.substr(std::min(position, text_.size()))).empty()) {
            const bool empty = trimmed(text_).empty();
            return refuse(text_.size(), "cut_off",
                          empty ? "the file is empty" : "the file ends in the middle of its JSON",
                          "was the tool that wrote it stopped before it was done?");
        }
        return refuse(
            position == 0 ? 0 : position - 1, "bad_json",
            fmt::format("this is no JSON{}", last.empty() ? "" : fmt::format(", at {}", roofline::quoted(last))));
    }

    JsonNode root;
    Error error;
    std::size_t error_offset = 0;

private:
    static constexpr std::size_t few =
        1000;  // objects of the tools have tens of members; comparing all would be quadratic

    [[nodiscard]] std::size_t taken() const {
        return std::min(static_cast<std::size_t>(*taken_ - text_.data()), text_.size());
    }
    /// Of a number, true, false or null that the parser has just read, and perhaps the byte behind it.
    [[nodiscard]] std::size_t word_start() const {
        const auto of_word = [&](std::size_t i) {
            const char c = text_[i];
            return is_digit(c) || (c >= 'a' && c <= 'z') || c == 'E' || c == '+' || c == '-' || c == '.';
        };
        std::size_t end = taken();
        while (end > 0 && !of_word(end - 1)) --end;
        while (end > 0 && of_word(end - 1)) --end;
        return end;
    }
    /// Of a text whose closing quote has just been read.
    [[nodiscard]] std::size_t quote_start() const {
        std::size_t at = taken();
        if (at < 2) return 0;
        for (at -= 2; at > 0; --at) {
            if (text_[at] != '"') continue;
            std::size_t slashes = 0;
            while (slashes < at && text_[at - 1 - slashes] == '\\') ++slashes;
            if (slashes % 2 == 0) break;
        }
        return at;
    }
    bool refuse(std::size_t offset, std::string code, std::string message, std::string hint = {}) {
        error = Error{std::move(code), std::move(message), std::move(hint), {}};
        error_offset = offset;
        return false;
    }
    JsonNode* add(JsonNode::Kind kind, std::size_t offset) {
        JsonNode* node = &root;
        if (!open_.empty()) {
            JsonNode& around = *open_.back();
            if (around.is(JsonNode::Kind::object)) around.names.push_back(std::move(name_));
            node = &around.items.emplace_back();
        }
        node->kind = kind;
        node->offset = offset;
        return node;
    }
    bool set_number(JsonNode::Kind kind, double value, std::size_t offset) {
        if (!std::isfinite(value)) return refuse(offset, "bad_number", "the number is too large");
        add(kind, offset)->number = value;
        return true;
    }
    bool open(JsonNode::Kind kind) {
        const std::size_t offset = taken() == 0 ? 0 : taken() - 1;
        if (open_.size() == deepest) {
            return refuse(offset, "bad_json", fmt::format("there are more than {} levels of nesting", deepest));
        }
        open_.push_back(add(kind, offset));
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    std::string_view text_;
    const char* const* taken_;
    std::vector<JsonNode*> open_;  // stays good: a node's list only grows while nothing inside it is open
    std::string name_;
};

}  // namespace

const JsonNode* JsonNode::find(std::string_view name) const {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? nullptr : &items[static_cast<std::size_t>(found - names.begin())];
}

std::string_view kind_name(JsonNode::Kind kind) {
    switch (kind) {
        case JsonNode::Kind::null:
            return "null";
        case JsonNode::Kind::boolean:
            return "true or false";
        case JsonNode::Kind::number:
            return "a number";
        case JsonNode::Kind::text:
            return "a text";
        case JsonNode::Kind::list:
            return "a list";
        case JsonNode::Kind::object:
            break;
    }
    return "an object";
}

Result<JsonNode> parse_json_text(std::string_view text, const std::string& source) {
    const char* taken = text.data();
    NodeBuilder builder(text, &taken);
    if (Json::sax_parse(Taken(text.data(), &taken), Taken(text.data() + text.size(), &taken), &builder)) {
        return std::move(builder.root);
    }
    const Source place(text, source);
    return place.fail_at(place.span(builder.error_offset), builder.error.code, builder.error.message,
                         builder.error.hint);
}

}  // namespace roofline
