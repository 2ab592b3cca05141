#include "import/xla/hlo_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr int deepest_tuple = 64;
constexpr std::size_t most_dims = 64;

enum class HloChar : std::uint8_t { other, letter, digit, mark, blank, open, close, quote };

constexpr std::array<HloChar, 256> classify_hlo() {
    std::array<HloChar, 256> classes{};
    const auto set = [&](std::string_view chars, HloChar to) {
        for (const char c : chars) classes[static_cast<unsigned char>(c)] = to;
    };
    set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", HloChar::letter);
    set("0123456789", HloChar::digit);
    set(".-/:", HloChar::mark);
    set(" \t\n\r", HloChar::blank);
    set("([{", HloChar::open);
    set(")]}", HloChar::close);
    set("\"", HloChar::quote);
    return classes;
}

constexpr std::array<HloChar, 256> hlo_classes = classify_hlo();

HloChar hlo_class(char c) { return hlo_classes[static_cast<unsigned char>(c)]; }
bool is_blank(char c) { return hlo_class(c) == HloChar::blank; }
bool is_element_name(char c) { return hlo_class(c) == HloChar::letter || hlo_class(c) == HloChar::digit; }
bool is_name(char c) { return is_element_name(c) || hlo_class(c) == HloChar::mark; }

char closing(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

}  // namespace

void HloScanner::skip_more_blanks() {
    while (at_ < text_.size()) {
        skip_more_in_line();
        if (at_ >= text_.size() || !is_blank(text_[at_])) return;
        ++at_;
    }
}

void HloScanner::skip_more_in_line() {
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

Status HloScanner::fail_to_find(std::string_view word, std::string_view where) const {
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
        const HloChar of = hlo_class(c);
        if (of == HloChar::quote) {
            if (!skip_quoted()) return fail_at(from, "bad_hlo", "a quotation mark inside is never closed");
            continue;
        }
        if (of == HloChar::open) {
            open.push_back(closing(c));
        } else if (of == HloChar::close) {
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
        const HloChar of = hlo_class(c);
        if (of == HloChar::open) {
            ROOFLINE_CHECK(skip_brackets());
        } else if (of == HloChar::quote) {
            const std::size_t quote = at_;
            if (!skip_quoted()) return fail_at(quote, "bad_hlo", "this quotation mark is never closed");
        } else {
            const bool goes_on = c == ' ' && at_ + 1 < text_.size() && text_[at_ + 1] == '{' && text_[at_ - 1] == ']';
            if (!goes_on && (c == ',' || of == HloChar::close || of == HloChar::blank)) break;
            ++at_;
        }
    }
    if (at_ == from) return fail_here("bad_hlo", "a value is missing after `=`");
    return between(from, at_);
}

bool HloScanner::at_shape() const {
    if (peek() == '(') return true;
    std::size_t end = at_;
    while (end < text_.size() && is_element_name(text_[end])) ++end;
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
        while (at_ < text_.size() && is_element_name(text_[at_])) ++at_;
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
    std::array<std::int64_t, most_dims> dims{};
    std::size_t rank = 0;
    while (!take("]")) {
        if (rank > 0) ROOFLINE_CHECK(expect(",", "between the sizes of a shape"));
        skip_blanks();
        if (take("<=")) shape.dynamic = true;
        std::int64_t size = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
        if (error != std::errc{} || size < 0) {
            return fail_here("bad_hlo", "a size of a shape must be a whole number",
                             peek() == '?' ? "an unbounded dimension has no size: export the module with sizes" : "");
        }
        at_ = static_cast<std::size_t>(end - text_.data());
        if (rank == most_dims) return fail_here("too_large", "a shape has more than 64 dimensions");
        dims[rank++] = size;
    }
    shape.dims.assign(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(rank));
    return {};
}

// `{1,0:T(8,128)(2,1)S(1)}`: minor to major, tiles, memory space.
Status HloScanner::take_layout(XlaShape& shape) {
    const std::size_t from = at_;
    ROOFLINE_CHECK(skip_brackets());
    std::string_view layout = between(from + 1, at_ - 1);
    const std::size_t colon = std::min(layout.find(':'), layout.size());
    std::array<int, most_dims> minor_to_major{};
    std::size_t rank = 0;
    for (std::size_t at = 0; at < colon && rank < most_dims;) {
        int dim = 0;
        const auto [end, error] = std::from_chars(layout.data() + at, layout.data() + colon, dim);
        if (error != std::errc{}) break;
        minor_to_major[rank++] = dim;
        at = static_cast<std::size_t>(end - layout.data()) + 1;
    }
    shape.put_layout(std::span(minor_to_major).first(rank));
    if (colon == layout.size()) return {};
    shape.tiled = layout.find("T(", colon) != std::string_view::npos;
    const std::size_t space = layout.find("S(", colon);
    if (space != std::string_view::npos) {
        std::from_chars(layout.data() + space + 2, layout.data() + layout.size(), shape.memory_space);
    }
    return {};
}

}  // namespace roofline::core
