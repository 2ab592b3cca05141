// Parsing of types: bf16[B_X, D=4096]{U_Y} in vmem, bf16[B, D] at X=0,Y=3.
#pragma once

#include <string>
#include <vector>

#include "notation/ast.hpp"
#include "notation/token_reader.hpp"

namespace roofline::core {

class TypeParser {
public:
    explicit TypeParser(TokenReader& tokens) : tokens_(tokens) {}

    /// Parses a dtype with its dimensions and everything that follows them.
    [[nodiscard]] Result<ast::Type> type();

    /// Returns the dtype that a word names.
    [[nodiscard]] Result<Dtype> dtype(const Token& token) const;

private:
    [[nodiscard]] Status dims(ast::Type& type);
    [[nodiscard]] Result<ast::Dim> dim();
    [[nodiscard]] Status subscript(const Token& word, std::size_t bar, std::vector<std::string>& mesh);
    [[nodiscard]] Status unreduced(ast::Type& type);
    [[nodiscard]] Status place(ast::Type& type);

    TokenReader& tokens_;
};

}  // namespace roofline::core
