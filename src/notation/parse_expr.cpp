#include "notation/parse_expr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "program/functions.hpp"

namespace roofline::core {

namespace {

constexpr int max_nesting = 100;
constexpr int max_depth = 500;
constexpr std::size_t max_operands = 500;

}  // namespace

Result<ast::Expr> ExprParser::expr() {
    auto left = term();
    while (left && (tokens_.peek().is("+") || tokens_.peek().is("-"))) {
        const Token& op = tokens_.take();
        tokens_.skip_newlines();
        ROOFLINE_TRY(auto right, term());
        left = call(op.text == "+" ? "add" : "sub", op.span, std::move(*left), std::move(right));
    }
    return left;
}

Result<ast::Expr> ExprParser::term() {
    auto left = factor();
    bool open = false;  // whether this loop made the product in `left`: a * b * c is flat, (a * b) * c is not
    while (left) {
        if (tokens_.peek().is("/")) {
            const Token& op = tokens_.take();
            tokens_.skip_newlines();
            ROOFLINE_TRY(auto right, factor());
            left = call("div", op.span, std::move(*left), std::move(right));
            open = false;
        } else if (tokens_.peek().is("*")) {
            const Token& op = tokens_.take();
            const Token& subscript = tokens_.peek();
            const bool named = subscript.kind == TokenKind::word && subscript.text.front() == '_';
            std::vector<ast::Word> along;
            if (named) {
                ROOFLINE_CHECK(summed(along));
            }
            tokens_.skip_newlines();
            ROOFLINE_TRY(auto right, factor());
            left = product(std::move(*left), std::move(right), std::move(along), named, open, op);
            open = !named;
        } else {
            return left;
        }
    }
    return left;
}

// Parses the dimensions after `*_`: `_D`, `_{D, E}`; a word of several letters is split when dimensions are known.
Status ExprParser::summed(std::vector<ast::Word>& along) {
    const Token& word = tokens_.take();
    if (word.text.size() > 1) {
        along.push_back({std::string(word.text.substr(1)), word.span});
        return {};
    }
    if (!tokens_.accept("{"))
        return tokens_.expected("the summed dimensions after `*_`", "write x *_D W or x *_{D, E} W");
    do {
        ROOFLINE_TRY(auto name, tokens_.dim_name(tokens_.peek()));
        along.push_back({name, tokens_.take().span});
    } while (tokens_.accept(","));
    if (!tokens_.accept("}")) return tokens_.expected("`}`");
    return {};
}

Result<ast::Expr> ExprParser::product(ast::Expr left, ast::Expr right, std::vector<ast::Word> along, bool named,
                                      bool open, const Token& op) const {
    if (open) {
        left.depth = std::max(left.depth, right.depth + 1);
        left.args.push_back(std::move(right));
        if (left.args.size() > max_operands) {
            return tokens_.wrong(op, fmt::format("a product has more than {} operands", max_operands));
        }
        return left;
    }
    ast::Expr result;
    result.kind = named ? ast::Expr::Kind::named_product : ast::Expr::Kind::product;
    result.along = std::move(along);
    return with_args(std::move(result), op.span, std::move(left), std::move(right));
}

Result<ast::Expr> ExprParser::call(std::string_view function, Span span, ast::Expr left, ast::Expr right) const {
    ast::Expr result;
    result.kind = ast::Expr::Kind::call;
    result.name = function;
    return with_args(std::move(result), span, std::move(left), std::move(right));
}

Result<ast::Expr> ExprParser::with_args(ast::Expr result, Span span, ast::Expr left, ast::Expr right) const {
    result.span = span;
    result.depth = std::max(left.depth, right.depth) + 1;
    if (result.depth > max_depth) {
        return tokens_.source().fail_at(span, "too_deep",
                                        fmt::format("the expression is more than {} operations deep", max_depth),
                                        "compute parts of it in separate statements");
    }
    result.args.push_back(std::move(left));
    result.args.push_back(std::move(right));
    return result;
}

Result<ast::Expr> ExprParser::factor() {
    if (++nesting_ > max_nesting) {
        return tokens_.source().fail_at(tokens_.peek().span, "too_deep",
                                        fmt::format("expressions are nested more than {} deep", max_nesting),
                                        "compute parts of it in separate statements");
    }
    auto result = factor_inner();
    --nesting_;
    return result;
}

Result<ast::Expr> ExprParser::factor_inner() {
    const Token& first = tokens_.peek();
    if (first.is("(")) {
        tokens_.take();
        tokens_.skip_newlines();
        ROOFLINE_TRY(auto inner, expr());
        tokens_.skip_newlines();
        if (!tokens_.accept(")"))
            return tokens_.expected(
                "`)`", fmt::format("the parenthesis opened at column {} is not closed", first.span.column));
        return inner;
    }
    if (first.is("-")) {
        tokens_.take();
        ROOFLINE_TRY(auto inner, factor());
        ast::Expr result;
        result.span = first.span;
        if (inner.kind == ast::Expr::Kind::number) {
            inner.number = -inner.number;
            return inner;
        }
        result.kind = ast::Expr::Kind::call;
        result.name = "neg";
        result.depth = inner.depth + 1;
        result.args.push_back(std::move(inner));
        return result;
    }
    if (first.kind == TokenKind::number) return number();
    if (first.kind != TokenKind::word) return tokens_.expected("a tensor, a name, a function or `(`");
    const Token& second = tokens_.peek(1);
    if (second.is(":")) {  // A: bf16[B, D]
        ROOFLINE_CHECK(tokens_.tensor_name(first));
        tokens_.take();
        tokens_.take();
        auto tensor = inline_tensor();
        if (tensor) tensor->name = first.text;
        return tensor;
    }
    if (second.is("(")) return function();
    if (second.is("[")) {
        if (find_function(first.text) != nullptr || closes_into_call()) return function();
        return inline_tensor();
    }
    tokens_.take();
    ast::Expr result;
    result.kind = ast::Expr::Kind::name;
    result.name = first.text;
    result.span = first.span;
    return result;
}

// Whether the bracket after the current word is followed by `(`: then it is a function's, even if the name is unknown.
bool ExprParser::closes_into_call() const {
    std::size_t ahead = 2;
    while (tokens_.peek(ahead).kind != TokenKind::end && !tokens_.peek(ahead).is("]") && ahead < 64) ++ahead;
    return tokens_.peek(ahead).is("]") && tokens_.peek(ahead + 1).is("(");
}

Result<ast::Expr> ExprParser::number() {
    const Token& token = tokens_.take();
    ast::Expr result;
    result.kind = ast::Expr::Kind::number;
    result.span = token.span;
    const char* end = token.text.data() + token.text.size();
    const auto [rest, problem] = std::from_chars(token.text.data(), end, result.number);
    if (problem != std::errc() || rest != end) {
        return tokens_.wrong(token, fmt::format("`{}` is not a number", token.text.substr(0, 40)));
    }
    return result;
}

Result<ast::Expr> ExprParser::inline_tensor() {
    ast::Expr result;
    result.kind = ast::Expr::Kind::tensor;
    result.span = tokens_.peek().span;
    ROOFLINE_TRY(result.type, types_.type());
    return result;
}

Result<ast::Expr> ExprParser::function() {
    const Token& name = tokens_.take();
    if (find_function(name.text) == nullptr) {
        return tokens_.source().fail_at(
            name.span, "unknown_function", fmt::format("there is no function `{}`", name.text.substr(0, 40)),
            did_you_mean(name.text, function_names(),
                         fmt::format("the functions are {}", fmt::join(function_names(), " "))));
    }
    ast::Expr result;
    result.kind = ast::Expr::Kind::call;
    result.name = name.text;
    result.span = name.span;
    if (tokens_.accept("[")) {
        do {
            ROOFLINE_TRY(auto dim, tokens_.dim_name(tokens_.peek()));
            result.along.push_back({dim, tokens_.take().span});
        } while (tokens_.accept(","));
        if (!tokens_.accept("]")) return tokens_.expected("',' or ']' in the dimensions of a function");
    }
    if (!tokens_.accept("(")) return tokens_.expected("`(` and the arguments of the function");
    if (find_function(name.text)->arguments == any_number && tokens_.accept(")")) return result;  // iota()
    do {
        tokens_.skip_newlines();
        ROOFLINE_TRY(auto argument, expr());
        result.depth = std::max(result.depth, argument.depth + 1);
        result.args.push_back(std::move(argument));
        tokens_.skip_newlines();
    } while (tokens_.accept(","));
    if (!tokens_.accept(")")) return tokens_.expected("',' or ')' in the arguments of a function");
    return result;
}

}  // namespace roofline::core
