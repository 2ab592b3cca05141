// Goes through HLO text character by character: words, shapes, and values in brackets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "import/xla/xla_shape.hpp"
#include "text/text_cursor.hpp"

namespace roofline::core {

class HloScanner : public TextCursor {
public:
    using TextCursor::TextCursor;

    /// Skips blanks, line ends and comments (`/*...*/`, `//...`).
    void skip_blanks() {
        const char c = peek();
        if (c <= ' ' || c == '/') skip_more_blanks();
    }
    /// Skips blanks and comments of the line; stops at its end.
    void skip_in_line() {
        const char c = peek();
        if (c <= ' ' || c == '/') skip_more_in_line();
    }
    /// Skips blanks, and takes `word`, which is not empty, if it comes next.
    bool take(std::string_view word) {
        skip_blanks();
        if (!next_is(word)) return false;
        at_ += word.size();
        return true;
    }
    /// Error: something else than `word` comes next; `where` ends the message.
    [[nodiscard]] Status expect(std::string_view word, std::string_view where) {
        return take(word) ? Status{} : fail_to_find(word, where);
    }

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

private:
    void skip_more_blanks();
    void skip_more_in_line();
    [[nodiscard]] Status fail_to_find(std::string_view word, std::string_view where) const;
    [[nodiscard]] Result<XlaShape> take_shape_within(int depth);
    [[nodiscard]] Status take_sizes(XlaShape& shape);
    [[nodiscard]] Status take_layout(XlaShape& shape);
    [[nodiscard]] Status skip_brackets();
};

}  // namespace roofline::core
