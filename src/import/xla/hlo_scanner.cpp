#include "import/xla/hlo_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr int deepest_tuple = 64;
constexpr std::size_t most_dims = 64;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '/' || c == ':'; }

char closing(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

}  // namespace

void HloScanner::skip_blanks() {
    while (at_ < text_.size()) {
        skip_in_line();
        if (at_ >= text_.size() || !is_blank(text_[at_])) return;
        ++at_;
    }
}

void HloScanner::skip_in_line() {
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == ' ' || c == '\t' || c == '\r') {
            ++at_;
        } else if (c == '/' && next_is("/*")) {
            const std::size_t end = text_.find("*/", at_ + 2);
            at_ = end == std::string_view::npos ? text_.size() : end + 2;
        } else if (c == '/' && next_is("//")) {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else {
            return;
        }
    }
}

bool HloScanner::take(std::string_view word) {
    skip_blanks();
    if (!next_is(word)) return false;
    at_ += word.size();
    return true;
}

Status HloScanner::expect(std::string_view word, std::string_view where) {
    if (take(word)) return {};
    return fail_here("bad_hlo", fmt::format("expected `{}` {}", word, where));
}

std::string_view HloScanner::take_name() {
    skip_blanks();
    if (peek() == '%') ++at_;
    const std::size_t from = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    return between(from, at_);
}

Status HloScanner::skip_brackets() {
    const std::size_t from = at_;
    std::string open;
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '"') {
            for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
                if (text_[at_] == '\\') ++at_;
            }
            if (at_ >= text_.size()) return fail_at(from, "bad_hlo", "a quotation mark inside is never closed");
        } else if (c == '(' || c == '[' || c == '{') {
            open.push_back(closing(c));
        } else if (c == ')' || c == ']' || c == '}') {
            if (open.back() != c) {
                return fail_here("bad_hlo", fmt::format("`{}` closes nothing; `{}` is still open", c, open.back()));
            }
            open.pop_back();
            if (open.empty()) {
                ++at_;
                return {};
            }
        }
        ++at_;
    }
    return fail_at(from, "bad_hlo", "this bracket is never closed", "the file may be cut off: give the whole module");
}

Result<std::string_view> HloScanner::take_enclosed(char open) {
    const std::size_t from = at_;
    if (peek() != open) return fail_here("bad_hlo", fmt::format("expected `{}`", open));
    ROOFLINE_CHECK(skip_brackets());
    return between(from + 1, at_ - 1);
}

// Values such as `[4,2]<=[2,4]T(1,0)` and `mesh['x'=2] {'x'}` are several pieces without a comma between them.
Result<std::string_view> HloScanner::take_value() {
    skip_blanks();
    const std::size_t from = at_;
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '(' || c == '[' || c == '{') {
            ROOFLINE_CHECK(skip_brackets());
        } else if (c == '"') {
            const std::size_t quote = at_;
            for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
                if (text_[at_] == '\\') ++at_;
            }
            if (at_ >= text_.size()) return fail_at(quote, "bad_hlo", "this quotation mark is never closed");
            ++at_;
        } else {
            const bool goes_on = c == ' ' && at_ + 1 < text_.size() && text_[at_ + 1] == '{' && text_[at_ - 1] == ']';
            if (!goes_on && (c == ',' || c == ')' || c == ']' || c == '}' || is_blank(c))) break;
            ++at_;
        }
    }
    if (at_ == from) return fail_here("bad_hlo", "a value is missing after `=`");
    return between(from, at_);
}

bool HloScanner::at_shape() const {
    if (peek() == '(') return true;
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    return end > at_ && end < text_.size() && text_[end] == '[';
}

Result<XlaShape> HloScanner::take_shape() { return take_shape_within(0); }

Result<XlaShape> HloScanner::take_shape_within(int depth) {
    skip_blanks();
    const std::size_t from = at_;
    XlaShape shape;
    if (peek() == '(') {
        if (depth >= deepest_tuple) return fail_here("too_deep", "tuples are nested deeper than 64 levels");
        ++at_;
        while (!take(")")) {
            if (!shape.parts.empty()) ROOFLINE_CHECK(expect(",", "between the parts of a tuple's shape"));
            ROOFLINE_TRY(auto part, take_shape_within(depth + 1));
            shape.parts.push_back(std::move(part));
        }
    } else {
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
        const std::string_view element = between(from, at_);
        shape.element = find_xla_element(element);
        if (shape.element == nullptr) {
            return fail_at(from, "bad_hlo", fmt::format("there is no element type {} in a shape", in_ticks(element)),
                           "shapes look like `bf16[8,128]{1,0}`");
        }
        ROOFLINE_CHECK(take_sizes(shape));
    }
    if (peek() == '{') ROOFLINE_CHECK(take_layout(shape));
    if (!countable(shape)) {
        return fail_at(from, "too_large", "this shape has more bits than 63 bits can count", "check its sizes");
    }
    return shape;
}

Status HloScanner::take_sizes(XlaShape& shape) {
    ROOFLINE_CHECK(expect("[", "before the sizes of a shape"));
    while (!take("]")) {
        if (!shape.dims.empty()) ROOFLINE_CHECK(expect(",", "between the sizes of a shape"));
        skip_blanks();
        if (take("<=")) shape.dynamic = true;
        std::int64_t size = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
        if (error != std::errc{} || size < 0) {
            return fail_here("bad_hlo", "a size of a shape must be a whole number",
                             peek() == '?' ? "an unbounded dimension has no size: export the module with sizes" : "");
        }
        at_ = static_cast<std::size_t>(end - text_.data());
        shape.dims.push_back(size);
        if (shape.dims.size() > most_dims) return fail_here("too_large", "a shape has more than 64 dimensions");
    }
    return {};
}

// `{1,0:T(8,128)(2,1)S(1)}`: minor to major, tiles, memory space.
Status HloScanner::take_layout(XlaShape& shape) {
    const std::size_t from = at_;
    ROOFLINE_CHECK(skip_brackets());
    std::string_view layout = between(from + 1, at_ - 1);
    const std::size_t colon = std::min(layout.find(':'), layout.size());
    for (std::size_t at = 0; at < colon;) {
        int dim = 0;
        const auto [end, error] = std::from_chars(layout.data() + at, layout.data() + colon, dim);
        if (error != std::errc{}) break;
        shape.minor_to_major.push_back(dim);
        at = static_cast<std::size_t>(end - layout.data()) + 1;
    }
    shape.tiled = layout.find("T(", colon) != std::string_view::npos;
    const std::size_t space = layout.find("S(", colon);
    if (space != std::string_view::npos) {
        std::from_chars(layout.data() + space + 2, layout.data() + layout.size(), shape.memory_space);
    }
    return {};
}

}  // namespace roofline::core
