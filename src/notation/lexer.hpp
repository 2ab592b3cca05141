// The lexer: text to tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "text/source.hpp"

namespace roofline::core {

enum class TokenKind {
    word,     ///< letters, digits and underscores, not starting with a digit: names, dtypes, `B_X`
    number,   ///< starts with a digit: 4096, 8k, 4Ki, 0.5
    symbol,   ///< one of [ ] { } ( ) , : = * / + - ->
    newline,  ///< end of a line or `;`
    end,
};

struct Token {
    TokenKind kind = TokenKind::end;
    std::string_view text;
    Span span;

    [[nodiscard]] bool is(std::string_view symbol) const { return kind == TokenKind::symbol && text == symbol; }
};

/// Splits a text into tokens; `@` and `·` become `*`. Errors: bytes that are not UTF-8 text, characters that the
/// notation does not have.
[[nodiscard]] Result<std::vector<Token>> tokenize(const Source& source);

/// Returns "`[`", "the end of the line" and so on, for messages.
[[nodiscard]] std::string describe(const Token& token);

}  // namespace roofline::core
