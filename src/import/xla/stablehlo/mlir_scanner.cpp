#include "import/xla/stablehlo/mlir_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t deepest_group = 256;
constexpr std::string_view cut_off = "the file may be cut off: give the whole module";

enum class MlirChar : std::uint8_t { other, word, blank, open, close, quote, comma };

constexpr std::array<MlirChar, 256> classify_mlir() {
    std::array<MlirChar, 256> classes{};
    for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<std::size_t>(c)] = MlirChar::word;
    for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<std::size_t>(c)] = MlirChar::word;
    for (int c = '0'; c <= '9'; ++c) classes[static_cast<std::size_t>(c)] = MlirChar::word;
    for (const char c : {'_', '$', '.'}) classes[static_cast<unsigned char>(c)] = MlirChar::word;
    for (const char c : {' ', '\t', '\n', '\r'}) classes[static_cast<unsigned char>(c)] = MlirChar::blank;
    for (const char c : {'(', '[', '{', '<'}) classes[static_cast<unsigned char>(c)] = MlirChar::open;
    for (const char c : {')', ']', '}', '>'}) classes[static_cast<unsigned char>(c)] = MlirChar::close;
    classes[static_cast<std::size_t>('"')] = MlirChar::quote;
    classes[static_cast<std::size_t>(',')] = MlirChar::comma;
    return classes;
}

constexpr std::array<MlirChar, 256> mlir_classes = classify_mlir();

MlirChar class_of(char c) { return mlir_classes[static_cast<unsigned char>(c)]; }
bool is_mlir_word(char c) { return class_of(c) == MlirChar::word; }

char closing_of(char open) { return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>'; }

}  // namespace

bool MlirScanner::skip_more_blanks() {
    bool line_ended = false;
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == ' ' || c == '\t' || c == '\r') {
            ++at_;
        } else if (c == '\n') {
            line_ended = true;
            ++at_;
        } else if (c == '/' && next_is("//")) {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else {
            break;
        }
    }
    return line_ended;
}

bool MlirScanner::take_word(std::string_view word) {
    skip_blanks();
    if (!next_is(word)) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && is_mlir_word(text_[end])) return false;
    at_ = end;
    return true;
}

Status MlirScanner::fail_to_find(std::string_view word, std::string_view where) const {
    return fail_here("bad_stablehlo", fmt::format("expected `{}` {}", word, where),
                     ended() ? std::string(cut_off) : std::string{});
}

std::string_view MlirScanner::take_word() {
    skip_blanks();
    const std::size_t from = at_;
    while (at_ < text_.size() && is_mlir_word(text_[at_])) ++at_;
    return between(from, at_);
}

Result<MlirName> MlirScanner::take_name() {
    skip_blanks();
    MlirName name;
    name.offset = at_;
    if (peek() != '%') return fail_here("bad_stablehlo", "expected the name of a value, such as `%0`");
    const std::size_t from = ++at_;
    while (at_ < text_.size() && (is_mlir_word(text_[at_]) || text_[at_] == '-')) ++at_;
    name.base = between(from, at_);
    if (name.base.empty()) return fail_here("bad_stablehlo", "the name of a value is missing after `%`");
    if (peek() == '#') {
        const auto [end, error] = std::from_chars(text_.data() + at_ + 1, text_.data() + text_.size(), name.number);
        if (error != std::errc{}) return fail_here("bad_stablehlo", "expected a number after `#`");
        at_ = static_cast<std::size_t>(end - text_.data());
    }
    name.whole = between(from, at_);
    return name;
}

Status MlirScanner::skip_string() {
    const std::size_t from = at_;
    if (skip_quoted()) return {};
    return fail_at(from, "bad_stablehlo", "this quotation mark is never closed", std::string(cut_off));
}

Result<std::string_view> MlirScanner::take_string() {
    skip_blanks();
    const std::size_t from = at_;
    if (peek() != '"') return fail_here("bad_stablehlo", "expected a string in quotation marks");
    ROOFLINE_CHECK(skip_string());
    return between(from + 1, at_ - 1);
}

Result<std::string_view> MlirScanner::take_symbol() {
    ROOFLINE_CHECK(expect("@", "before the name of a function or a mesh"));
    if (peek() == '"') return take_string();
    const std::size_t from = at_;
    while (at_ < text_.size() && (is_mlir_word(text_[at_]) || text_[at_] == '-')) ++at_;
    if (at_ == from) return fail_here("bad_stablehlo", "a name is missing after `@`");
    return between(from, at_);
}

// Elements may be gigabytes of digits: only what ends them is looked for.
Status MlirScanner::skip_dense() {
    const std::size_t from = at_;
    if (peek() == '"') ROOFLINE_CHECK(skip_string());
    std::size_t begin = at_;
    while (true) {
        const std::size_t end = text_.find('>', begin);
        if (end == std::string_view::npos) {
            return fail_at(from, "bad_stablehlo", "the elements of this constant have no end", std::string(cut_off));
        }
        const std::size_t quote = text_.substr(begin, end - begin).find('"');
        if (quote == std::string_view::npos) {
            at_ = end;
            return {};
        }
        at_ = begin + quote;
        ROOFLINE_CHECK(skip_string());
        begin = at_;
    }
}

Status MlirScanner::skip_nested(Until until) {
    const std::size_t from = at_;
    std::array<char, deepest_group> open{};
    std::size_t depth = 0;
    while (at_ < text_.size()) {
        const char c = text_[at_];
        switch (class_of(c)) {
            case MlirChar::quote:
                ROOFLINE_CHECK(skip_string());
                continue;
            case MlirChar::open:
                if (c == '<' && next_is("<=")) break;
                if (depth == open.size()) {
                    return fail_here("too_deep", "brackets are nested deeper than 256 levels");
                }
                open[depth++] = closing_of(c);
                ++at_;
                if (c == '<' && at_ >= 6 && text_.substr(at_ - 6, 6) == "dense<") ROOFLINE_CHECK(skip_dense());
                continue;
            case MlirChar::close:
                if (c == '>' && at_ > from && text_[at_ - 1] == '-') break;  // an arrow
                if (depth == 0) return {};
                if (open[depth - 1] != c) {
                    return fail_here("bad_stablehlo",
                                     fmt::format("`{}` closes nothing; `{}` is still open", c, open[depth - 1]));
                }
                ++at_;
                if (--depth == 0 && until == Until::closed) return {};
                continue;
            case MlirChar::comma:
                if (depth == 0) return {};
                break;
            default:
                break;
        }
        ++at_;
    }
    return fail_at(from, "bad_stablehlo", "this is never closed", std::string(cut_off));
}

Result<std::string_view> MlirScanner::take_group() {
    skip_blanks();
    const std::size_t from = at_;
    if (class_of(peek()) != MlirChar::open) return fail_here("bad_stablehlo", "expected a bracket here");
    ROOFLINE_CHECK(skip_nested(Until::closed));
    return between(from, at_);
}

Result<std::string_view> MlirScanner::take_dictionary_value() {
    skip_blanks();
    const std::size_t from = at_;
    ROOFLINE_CHECK(skip_nested(Until::comma));
    const std::string_view value = trimmed(between(from, at_));
    if (value.empty()) return fail_at(from, "bad_stablehlo", "a value is missing after `=`");
    return value;
}

// A group, a string, or a run of letters and signs. Returns false if nothing of these comes next.
Result<bool> MlirScanner::skip_piece() {
    const char c = peek();
    if (class_of(c) == MlirChar::open) {
        ROOFLINE_CHECK(skip_nested(Until::closed));
        return true;
    }
    if (c == '"') {
        ROOFLINE_CHECK(skip_string());
        return true;
    }
    const std::size_t from = at_;
    while (at_ < text_.size()) {
        const char sign = text_[at_];
        const bool minus = sign == '-' && !next_is("->");
        if (!is_mlir_word(sign) && sign != '#' && sign != '@' && sign != '!' && sign != '+' && !minus) break;
        ++at_;
    }
    return at_ > from;
}

Result<std::string_view> MlirScanner::take_plain_value() {
    skip_blanks();
    const std::size_t from = at_;
    while (true) {
        ROOFLINE_TRY(const bool found, skip_piece());
        if (!found) return fail_here("bad_stablehlo", "a value is missing");
        const char last = text_[at_ - 1];
        const char next = peek();
        const bool group = next == '<' || next == '[';
        if (group || (last == ']' && next == 'x') || (last == '@' && next == '"')) continue;
        const std::size_t end = at_;
        skip_blanks();
        if (next_is("->")) {
            at_ += 2;
            skip_blanks();
        } else if (last == ']' && (next_is("x [") || next_is("x["))) {
            ++at_;
            skip_blanks();
        } else {
            at_ = end;
            return between(from, end);
        }
    }
}

}  // namespace roofline::core
