// Parsing of expressions: products, functions, sums, named and unnamed tensors.
#pragma once

#include <string_view>
#include <vector>

#include "notation/ast.hpp"
#include "notation/parse_type.hpp"
#include "notation/token_reader.hpp"

namespace roofline::core {

class ExprParser {
public:
    explicit ExprParser(TokenReader& tokens) : tokens_(tokens), types_(tokens) {}

    [[nodiscard]] Result<ast::Expr> expr();

private:
    [[nodiscard]] Result<ast::Expr> term();
    [[nodiscard]] Status summed(std::vector<ast::Word>& along);
    [[nodiscard]] Result<ast::Expr> product(ast::Expr left, ast::Expr right, std::vector<ast::Word> along, bool named,
                                            bool open, const Token& op) const;
    [[nodiscard]] Result<ast::Expr> call(std::string_view function, Span span, ast::Expr left, ast::Expr right) const;
    [[nodiscard]] Result<ast::Expr> with_args(ast::Expr result, Span span, ast::Expr left, ast::Expr right) const;
    [[nodiscard]] Result<ast::Expr> factor();
    [[nodiscard]] Result<ast::Expr> factor_inner();
    [[nodiscard]] bool closes_into_call() const;
    [[nodiscard]] Result<ast::Expr> number();
    [[nodiscard]] Result<ast::Expr> inline_tensor();
    [[nodiscard]] Result<ast::Expr> function();

    TokenReader& tokens_;
    TypeParser types_;
    int nesting_ = 0;
};

}  // namespace roofline::core
