// Goes through HLO text character by character: words, shapes, and values in brackets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/xla/xla_shape.hpp"
#include "text/source.hpp"

namespace roofline::core {

class HloScanner {
public:
    HloScanner(std::string_view text, std::string name) : source_(text, std::move(name)), text_(text) {}

    [[nodiscard]] std::size_t at() const { return at_; }
    void go_to(std::size_t offset) { at_ = offset; }
    [[nodiscard]] std::string_view text() const { return text_; }
    [[nodiscard]] std::string_view between(std::size_t from, std::size_t to) const {
        return text_.substr(from, to - from);
    }

    /// Skips blanks, line ends and comments (`/*...*/`, `//...`).
    void skip_blanks();
    /// Skips blanks and comments of the line; stops at its end.
    void skip_in_line();
    [[nodiscard]] bool ended() const { return at_ >= text_.size(); }
    /// The next character, or 0 at the end.
    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    [[nodiscard]] bool next_is(std::string_view word) const { return text_.substr(at_).starts_with(word); }
    /// Skips blanks, and takes `word` if it comes next.
    bool take(std::string_view word);
    /// Error: something else than `word` comes next; `where` ends the message.
    [[nodiscard]] Status expect(std::string_view word, std::string_view where);

    /// Takes letters, digits and `_.-/:`; empty if none comes next. A percent sign before it is left out.
    std::string_view take_name();
    /// Takes a value after `=`: a word, a string, or anything in brackets with what adheres to it.
    [[nodiscard]] Result<std::string_view> take_value();
    /// Takes everything up to the bracket that closes the one before; the brackets around it are left out.
    [[nodiscard]] Result<std::string_view> take_enclosed(char open);
    /// Whether a shape comes next: `f32[`, or `(` of a tuple.
    [[nodiscard]] bool at_shape() const;
    /// Takes a shape with its layout. Errors: no element type, a size that is no number, more elements than can be
    /// counted, tuples nested deeper than 64.
    [[nodiscard]] Result<XlaShape> take_shape();

    [[nodiscard]] tl::unexpected<Error> fail_here(std::string code, std::string message, std::string hint = {}) const {
        return fail_at(at_, std::move(code), std::move(message), std::move(hint));
    }
    [[nodiscard]] tl::unexpected<Error> fail_at(std::size_t offset, std::string code, std::string message,
                                                std::string hint = {}) const {
        return source_.fail_at(source_.span(offset), std::move(code), std::move(message), std::move(hint));
    }

private:
    [[nodiscard]] Result<XlaShape> take_shape_within(int depth);
    [[nodiscard]] Status take_sizes(XlaShape& shape);
    [[nodiscard]] Status take_layout(XlaShape& shape);
    [[nodiscard]] Status skip_brackets();

    Source source_;
    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace roofline::core
