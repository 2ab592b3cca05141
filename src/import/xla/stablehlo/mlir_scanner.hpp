// Goes through the text of MLIR character by character: words, names of values, strings, and groups in brackets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "text/text_cursor.hpp"

namespace roofline::core {

/// The name of a value: `%0#1` has the base "0", the number 1 and is "0#1" as a whole.
struct MlirName {
    std::string_view base;
    std::string_view whole;
    std::uint32_t number = 0;
    std::size_t offset = 0;
};

class MlirScanner : public TextCursor {
public:
    using TextCursor::TextCursor;

    /// Skips blanks, line ends and comments (`//`). Returns whether a line ended.
    bool skip_blanks() {
        const char c = peek();
        return (c <= ' ' || c == '/') && skip_more_blanks();
    }
    /// Skips blanks, and takes `word` if it comes next.
    bool take(std::string_view word) {
        skip_blanks();
        if (!next_is(word)) return false;
        at_ += word.size();
        return true;
    }
    /// The same for a word of letters that must end there.
    bool take_word(std::string_view word);
    /// Error: something else than `word` comes next; `where` ends the message.
    [[nodiscard]] Status expect(std::string_view word, std::string_view where) {
        return take(word) ? Status{} : fail_to_find(word, where);
    }

    /// Takes letters, digits and `_$.`; empty if none comes next.
    std::string_view take_word();
    /// Takes `%name` or `%name#1`.
    [[nodiscard]] Result<MlirName> take_name();
    /// Takes a string; the quotation marks are left out.
    [[nodiscard]] Result<std::string_view> take_string();
    /// Takes `@name` or `@"name"`; the sign and the quotation marks are left out.
    [[nodiscard]] Result<std::string_view> take_symbol();
    /// Takes a bracket and everything up to the one that closes it; the brackets are kept. Elements of `dense<...>` are
    /// passed over without a look.
    [[nodiscard]] Result<std::string_view> take_group();
    /// Takes the value of a dictionary: everything up to a comma or a closing bracket.
    [[nodiscard]] Result<std::string_view> take_dictionary_value();
    /// Takes a value outside of dictionaries, where a colon ends it: `3`, `[1] x [0]`, `[b, f]x[i, o]->[b, f]`,
    /// `<...>`.
    [[nodiscard]] Result<std::string_view> take_plain_value();

private:
    enum class Until : std::uint8_t { closed, comma };
    [[nodiscard]] Status skip_nested(Until until);
    bool skip_more_blanks();
    [[nodiscard]] Status fail_to_find(std::string_view word, std::string_view where) const;
    [[nodiscard]] Status skip_string();
    [[nodiscard]] Status skip_dense();
    [[nodiscard]] Result<bool> skip_piece();
};

}  // namespace roofline::core
