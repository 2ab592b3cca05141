// A reader of the tokens of a text, with the elements that all parts of the parser have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "notation/lexer.hpp"
#include "text/source.hpp"

namespace roofline::core {

class TokenReader {
public:
    TokenReader(const Source& source, std::vector<Token> tokens) : source_(source), tokens_(std::move(tokens)) {}

    [[nodiscard]] const Source& source() const { return source_; }
    [[nodiscard]] const Token& peek(std::size_t ahead = 0) const {
        return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
    }
    const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }

    /// Takes the next token if it is this symbol.
    bool accept(std::string_view symbol);
    void skip_newlines();

    /// Returns a position to come back to.
    [[nodiscard]] std::size_t mark() const { return at_; }
    void back_to(std::size_t mark) { at_ = mark; }

    [[nodiscard]] tl::unexpected<Error> wrong(const Token& token, std::string message, std::string hint = {}) const;

    /// Returns the error "expected WHAT, found the next token".
    [[nodiscard]] tl::unexpected<Error> expected(std::string_view what, std::string hint = {}) const;

    /// Parses a size, at least 1; `what` names it in errors.
    [[nodiscard]] Result<std::int64_t> size(std::string_view what);

    /// Parses a coordinate on a mesh axis: a whole number from 0.
    [[nodiscard]] Result<std::int64_t> coordinate(std::string_view axis);

    /// Returns the name of a dimension, which has no underscore.
    [[nodiscard]] Result<std::string> dim_name(const Token& token) const;

    /// Checks the name of a tensor: after `*` a leading underscore names summed dimensions.
    [[nodiscard]] Status tensor_name(const Token& token) const;

private:
    const Source& source_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
};

}  // namespace roofline::core
