#include "notation/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "notation/lexer.hpp"
#include "program/functions.hpp"
#include "units/text.hpp"

namespace roofline {

namespace {

constexpr int max_nesting = 100;
constexpr int max_depth = 500;
constexpr std::size_t max_operands = 500;

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

class Parser {
public:
    Parser(const Source& source, std::vector<Token> tokens) : source_(source), tokens_(std::move(tokens)) {}

    Result<ast::Block> program() {
        ast::Block block;
        if (auto status = items(block, false); !status) return fail(status.error());
        return block;
    }

private:
    // ---- tokens

    [[nodiscard]] const Token& peek(std::size_t ahead = 0) const {
        return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
    }
    const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
    bool accept(std::string_view symbol) {
        if (!peek().is(symbol)) return false;
        take();
        return true;
    }
    void skip_newlines() {
        while (peek().kind == TokenKind::newline) take();
    }
    [[nodiscard]] tl::unexpected<Error> wrong(const Token& token, std::string message, std::string hint = {}) const {
        return source_.fail_at(token.span, "syntax", std::move(message), std::move(hint));
    }
    [[nodiscard]] tl::unexpected<Error> expected(std::string_view what, std::string hint = {}) const {
        return wrong(peek(), fmt::format("expected {}, found {}", what, describe(peek())), std::move(hint));
    }

    // ---- statements

    Status items(ast::Block& block, bool nested) {
        while (true) {
            skip_newlines();
            if (peek().kind == TokenKind::end) {
                if (!nested) return {};
                return expected("`}`", fmt::format("the block that opened at line {} is not closed", block.span.line));
            }
            if (nested && accept("}")) return {};
            auto next = item();
            if (!next) return fail(next.error());
            block.items.push_back(std::move(*next));
            if (nested && peek().is("}")) continue;
            if (peek().kind != TokenKind::newline && peek().kind != TokenKind::end) {
                return expected("the end of the statement");
            }
        }
    }

    Result<ast::Item> item() {
        const Token& first = peek();
        if (first.kind == TokenKind::word) {
            const Token& second = peek(1);
            if (first.text == "fuse" && opens_block(1)) return block(ast_kind::fuse);
            if (first.text == "repeat" && (second.kind == TokenKind::word || second.kind == TokenKind::number)) {
                return block(ast_kind::repeat);
            }
            if (first.text == "mesh" && second.kind == TokenKind::word && peek(2).is("=")) return mesh();
            if (second.is("=") && is_size(2)) return sizes();
        }
        return assignment();
    }

    using ast_kind = Block::Kind;

    [[nodiscard]] bool opens_block(std::size_t ahead) const {
        while (peek(ahead).kind == TokenKind::newline) ++ahead;
        return peek(ahead).is("{");
    }

    // `B = 4096` gives a size; `B = 4096 * x` would be an assignment.
    [[nodiscard]] bool is_size(std::size_t ahead) const {
        if (peek(ahead).is("-")) ++ahead;
        if (peek(ahead).kind != TokenKind::number) return false;
        const Token& next = peek(ahead + 1);
        return next.is(",") || next.is("}") || next.kind == TokenKind::newline || next.kind == TokenKind::end;
    }

    Result<ast::Item> block(ast_kind kind) {
        ast::Block block;
        block.kind = kind;
        block.span = take().span;
        if (++nesting_ > max_nesting) {
            return source_.fail_at(block.span, "too_deep",
                                   fmt::format("blocks are nested more than {} deep", max_nesting));
        }
        if (kind == ast_kind::repeat) {
            if (peek().kind == TokenKind::number) {
                auto count = size("the count of a repeat");
                if (!count) return fail(count.error());
                block.number = *count;
            } else {
                auto count = dim_name(take());
                if (!count) return fail(count.error());
                block.count = *count;
            }
        }
        skip_newlines();
        if (!accept("{")) return expected("`{`");
        if (auto status = items(block, true); !status) return fail(status.error());
        --nesting_;
        return ast::Item(std::move(block));
    }

    Result<std::vector<ast::Size>> size_list(std::string_view what) {
        std::vector<ast::Size> list;
        do {
            skip_newlines();
            if (peek().kind != TokenKind::word) return expected(fmt::format("the name of {}", what));
            const Token& name = take();
            auto checked = dim_name(name);
            if (!checked) return fail(checked.error());
            if (!accept("=")) return expected("`=` and a size");
            auto value = size(fmt::format("the size of `{}`", *checked));
            if (!value) return fail(value.error());
            list.push_back({*checked, *value, name.span});
        } while (accept(","));
        return list;
    }

    Result<ast::Item> mesh() {
        take();
        auto axes = size_list("a mesh axis");
        if (!axes) return fail(axes.error());
        return ast::Item(ast::Mesh{std::move(*axes)});
    }

    Result<ast::Item> sizes() {
        auto list = size_list("a dimension");
        if (!list) return fail(list.error());
        return ast::Item(ast::Sizes{std::move(*list)});
    }

    Result<ast::Item> assignment() {
        ast::Assignment result;
        result.span = peek().span;
        if (peek().kind == TokenKind::word && peek().text == "param" && peek(1).kind == TokenKind::word) {
            take();
            result.param = true;
        }
        if (peek().kind == TokenKind::word && peek(1).is("=")) {  // A = expr
            result.name = take().text;
            take();
            return with_value(std::move(result));
        }
        if (peek().kind == TokenKind::word && peek(1).is(":")) {
            const std::size_t start = at_;
            result.name = take().text;
            take();
            auto type = this->type();
            if (!type) return fail(type.error());
            result.type = std::move(*type);
            if (peek().kind == TokenKind::newline || peek().kind == TokenKind::end || peek().is("}")) {
                return ast::Item(std::move(result));  // A : type
            }
            if (accept("=")) return with_value(std::move(result));  // A : type = expr
            if (result.param) {
                return expected("`=` or the end of the statement",
                                "`param` stands before a declaration of its own line");
            }
            at_ = start;  // A : type * ... -> C : type
        }
        if (result.param) return expected("`:` and a type", "write `param W : bf16[D, F]`");
        return one_liner();
    }

    Result<ast::Item> with_value(ast::Assignment result) {
        if (result.param) {
            return wrong(peek(), "a parameter is given, not computed", "leave `param` out, or the `= ...`");
        }
        skip_newlines();
        auto value = expr();
        if (!value) return fail(value.error());
        result.value = std::move(*value);
        if (auto status = using_clause(result); !status) return fail(status.error());
        return ast::Item(std::move(result));
    }

    Result<ast::Item> one_liner() {
        ast::Assignment result;
        result.span = peek().span;
        result.one_liner = true;
        auto value = expr();
        if (!value) return fail(value.error());
        result.value = std::move(*value);
        if (!accept("->")) {
            return expected("an operator or `-> result`",
                            "write the result's type: `... -> bf16[B, F]`, or give the result a name: `C = ...`");
        }
        skip_newlines();
        if (peek().kind == TokenKind::word && peek(1).is(":")) {
            result.name = take().text;
            take();
        }
        auto type = this->type();
        if (!type) return fail(type.error());
        result.type = std::move(*type);
        if (auto status = using_clause(result); !status) return fail(status.error());
        return ast::Item(std::move(result));
    }

    Status using_clause(ast::Assignment& result) {
        if (peek().kind != TokenKind::word || peek().text != "using") return {};
        take();
        if (peek().kind != TokenKind::word) return expected("a dtype after `using`");
        auto dtype = this->dtype(take());
        if (!dtype) return fail(dtype.error());
        result.using_dtype = *dtype;
        return {};
    }

    // ---- types

    Result<Dtype> dtype(const Token& token) const {
        if (const auto found = find_dtype(token.text)) return *found;
        return source_.fail_at(
            token.span, "unknown_dtype", fmt::format("no dtype `{}`", token.text.substr(0, 40)),
            did_you_mean(token.text, dtype_names(), fmt::format("dtypes are {}", fmt::join(dtype_names(), " "))));
    }

    Result<ast::Type> type() {
        skip_newlines();
        if (peek().kind != TokenKind::word) return expected("a type such as bf16[B, D]");
        ast::Type type;
        type.span = peek().span;
        const Token& word = take();
        auto dtype = this->dtype(word);
        if (!dtype) return fail(dtype.error());
        type.dtype = *dtype;
        if (!peek().is("[")) return expected("`[` and the dimensions of a tensor");
        if (auto status = dims(type); !status) return fail(status.error());
        if (peek().is("{")) {
            if (auto status = unreduced(type); !status) return fail(status.error());
        }
        if (peek().kind == TokenKind::word && peek().text == "in") {
            take();
            if (peek().kind != TokenKind::word) return expected("a memory level after `in`");
            type.level = lowered(take().text);
            if (type.level == "dram") type.level = "host";
        }
        return type;
    }

    Status dims(ast::Type& type) {
        const Token& open = take();
        skip_newlines();
        if (accept("]")) return {};
        while (true) {
            skip_newlines();
            auto dim = this->dim();
            if (!dim) return fail(dim.error());
            type.dims.push_back(std::move(*dim));
            skip_newlines();
            if (accept("]")) return {};
            if (!accept(",")) {
                return wrong(peek(), "expected ',' or ']' in the dimensions of a tensor",
                             fmt::format("the bracket opened at column {} is not closed", open.span.column));
            }
        }
    }

    Result<ast::Dim> dim() {
        ast::Dim dim;
        dim.span = peek().span;
        if (peek().is("-") || peek().kind == TokenKind::number) {
            auto size = this->size("a dimension");
            if (!size) return fail(size.error());
            dim.size = *size;
            if (peek().kind == TokenKind::word && peek().text.front() == '_') {
                if (auto status = subscript(take(), 0, dim.mesh); !status) return fail(status.error());
            }
            return dim;
        }
        if (peek().kind != TokenKind::word) return expected("a dimension: a name or a size");
        const Token& word = take();
        const std::size_t bar = word.text.find('_');
        dim.name = word.text.substr(0, bar);
        if (dim.name.empty()) return wrong(word, "a dimension's name does not start with `_`");
        if (bar != std::string_view::npos) {
            if (auto status = subscript(word, bar, dim.mesh); !status) return fail(status.error());
        }
        if (accept("=")) {
            auto size = this->size(fmt::format("the size of `{}`", dim.name));
            if (!size) return fail(size.error());
            dim.size = *size;
        }
        return dim;
    }

    // The mesh axes after the `_` at `bar` of a word: `_X`, `_XY`, or `_` followed by {data, X}.
    Status subscript(const Token& word, std::size_t bar, std::vector<std::string>& mesh) {
        const std::string_view letters = word.text.substr(bar + 1);
        if (letters.empty()) {
            if (!accept("{")) return expected("mesh axes after `_`", "write B_X, B_XY or B_{data}");
            do {
                if (peek().kind != TokenKind::word) return expected("the name of a mesh axis");
                mesh.emplace_back(take().text);
            } while (accept(","));
            if (!accept("}")) return expected("`}` after the mesh axes");
            return {};
        }
        for (const char letter : letters) {
            if (!is_capital(letter)) {
                return wrong(word,
                             fmt::format("`{}` is not a mesh axis: after a bare _ axes are single capitals",
                                         letters.substr(0, 40)),
                             fmt::format("longer names go in braces: {}_{{{}}}; dimension names have no underscore",
                                         word.text.substr(0, std::min<std::size_t>(bar, 40)), letters.substr(0, 40)));
            }
            mesh.emplace_back(1, letter);
        }
        return {};
    }

    Status unreduced(ast::Type& type) {
        take();
        const Token& word = peek();
        if (word.kind != TokenKind::word || !word.text.starts_with("U_")) {
            return expected("`U_` and mesh axes", "a partial sum over X is written {U_X}");
        }
        take();
        if (auto status = subscript(word, 1, type.unreduced); !status) return fail(status.error());
        if (!accept("}")) return expected("`}`");
        return {};
    }

    // ---- numbers and names

    Result<std::int64_t> size(std::string_view what) {
        const Token& token = peek();
        if (token.is("-")) {
            return wrong(token, fmt::format("{} must be at least 1", what));
        }
        if (token.kind != TokenKind::number) return expected(what);
        take();
        auto value = parse_size(token.text);
        if (!value) {
            Error error = value.error();
            error.message = fmt::format("{}: {}", what, error.message);
            error.place = source_.place(token.span);
            return fail(error);
        }
        return *value;
    }

    Result<std::string> dim_name(const Token& token) const {
        if (token.kind == TokenKind::word && token.text.find('_') == std::string_view::npos) {
            return std::string(token.text);
        }
        return wrong(token, fmt::format("expected the name of a dimension, found {}", describe(token)),
                     "names of dimensions are letters and digits, no underscore");
    }

    // ---- expressions

    Result<ast::Expr> expr() {
        auto left = term();
        while (left && (peek().is("+") || peek().is("-"))) {
            const Token& op = take();
            skip_newlines();
            auto right = term();
            if (!right) return right;
            left = call(op.text == "+" ? "add" : "sub", op.span, std::move(*left), std::move(*right));
        }
        return left;
    }

    Result<ast::Expr> term() {
        auto left = factor();
        bool open = false;  // whether `left` is a product that this loop made: a * b * c is flat, (a * b) * c is not
        while (left) {
            if (peek().is("/")) {
                const Token& op = take();
                skip_newlines();
                auto right = factor();
                if (!right) return right;
                left = call("div", op.span, std::move(*left), std::move(*right));
                open = false;
            } else if (peek().is("*")) {
                const Token& op = take();
                const Token& subscript = peek();
                const bool named = subscript.kind == TokenKind::word && subscript.text.front() == '_';
                std::vector<ast::Word> along;
                if (named) {
                    if (auto status = summed(along); !status) return fail(status.error());
                }
                skip_newlines();
                auto right = factor();
                if (!right) return right;
                left = product(std::move(*left), std::move(*right), std::move(along), named, open, op);
                open = !named;
            } else {
                return left;
            }
        }
        return left;
    }

    // The dimensions after `*_`: `_D`, `_{D, E}`; several letters are told apart when dimensions are known.
    Status summed(std::vector<ast::Word>& along) {
        const Token& word = take();
        if (word.text.size() > 1) {
            along.push_back({std::string(word.text.substr(1)), word.span});
            return {};
        }
        if (!accept("{")) return expected("the summed dimensions after `*_`", "write x *_D W or x *_{D, E} W");
        do {
            auto name = dim_name(peek());
            if (!name) return fail(name.error());
            along.push_back({*name, take().span});
        } while (accept(","));
        if (!accept("}")) return expected("`}`");
        return {};
    }

    Result<ast::Expr> product(ast::Expr left, ast::Expr right, std::vector<ast::Word> along, bool named, bool open,
                              const Token& op) const {
        if (open) {
            left.depth = std::max(left.depth, right.depth + 1);
            left.args.push_back(std::move(right));
            if (left.args.size() > max_operands) {
                return wrong(op, fmt::format("a product has more than {} operands", max_operands));
            }
            return left;
        }
        ast::Expr result;
        result.kind = named ? ast::Expr::Kind::named_product : ast::Expr::Kind::product;
        result.along = std::move(along);
        return with_args(std::move(result), op.span, std::move(left), std::move(right));
    }

    Result<ast::Expr> call(std::string_view function, Span span, ast::Expr left, ast::Expr right) const {
        ast::Expr result;
        result.kind = ast::Expr::Kind::call;
        result.name = function;
        return with_args(std::move(result), span, std::move(left), std::move(right));
    }

    Result<ast::Expr> with_args(ast::Expr result, Span span, ast::Expr left, ast::Expr right) const {
        result.span = span;
        result.depth = std::max(left.depth, right.depth) + 1;
        if (result.depth > max_depth) {
            return source_.fail_at(span, "too_deep",
                                   fmt::format("the expression is more than {} operations deep", max_depth),
                                   "give parts of it names in statements of their own");
        }
        result.args.push_back(std::move(left));
        result.args.push_back(std::move(right));
        return result;
    }

    Result<ast::Expr> factor() {
        if (++nesting_ > max_nesting) {
            return source_.fail_at(peek().span, "too_deep",
                                   fmt::format("expressions are nested more than {} deep", max_nesting),
                                   "give parts of it names in statements of their own");
        }
        auto result = factor_inner();
        --nesting_;
        return result;
    }

    Result<ast::Expr> factor_inner() {
        const Token& first = peek();
        if (first.is("(")) {
            take();
            skip_newlines();
            auto inner = expr();
            if (!inner) return inner;
            skip_newlines();
            if (!accept(")"))
                return expected("`)`",
                                fmt::format("the parenthesis opened at column {} is not closed", first.span.column));
            return inner;
        }
        if (first.is("-")) {
            take();
            auto inner = factor();
            if (!inner) return inner;
            ast::Expr result;
            result.span = first.span;
            if (inner->kind == ast::Expr::Kind::number) {
                inner->number = -inner->number;
                return inner;
            }
            result.kind = ast::Expr::Kind::call;
            result.name = "neg";
            result.depth = inner->depth + 1;
            result.args.push_back(std::move(*inner));
            return result;
        }
        if (first.kind == TokenKind::number) return number();
        if (first.kind != TokenKind::word) return expected("a tensor, a name, a function or `(`");
        const Token& second = peek(1);
        if (second.is(":")) {  // A: bf16[B, D]
            take();
            take();
            auto tensor = inline_tensor();
            if (tensor) tensor->name = first.text;
            return tensor;
        }
        if (second.is("(")) return function();
        if (second.is("[")) {
            if (find_function(first.text) != nullptr || closes_into_call()) return function();
            return inline_tensor();
        }
        take();
        ast::Expr result;
        result.kind = ast::Expr::Kind::name;
        result.name = first.text;
        result.span = first.span;
        return result;
    }

    // Whether the bracket after the current word is followed by `(`: a function's, then, even if the name is unknown.
    [[nodiscard]] bool closes_into_call() const {
        std::size_t ahead = 2;
        while (peek(ahead).kind != TokenKind::end && !peek(ahead).is("]") && ahead < 64) ++ahead;
        return peek(ahead).is("]") && peek(ahead + 1).is("(");
    }

    Result<ast::Expr> number() {
        const Token& token = take();
        ast::Expr result;
        result.kind = ast::Expr::Kind::number;
        result.span = token.span;
        const char* end = token.text.data() + token.text.size();
        const auto [rest, problem] = std::from_chars(token.text.data(), end, result.number);
        if (problem != std::errc() || rest != end) {
            return wrong(token, fmt::format("`{}` is not a number", token.text.substr(0, 40)));
        }
        return result;
    }

    Result<ast::Expr> inline_tensor() {
        ast::Expr result;
        result.kind = ast::Expr::Kind::tensor;
        result.span = peek().span;
        auto type = this->type();
        if (!type) return fail(type.error());
        result.type = std::move(*type);
        return result;
    }

    Result<ast::Expr> function() {
        const Token& name = take();
        if (find_function(name.text) == nullptr) {
            return source_.fail_at(name.span, "unknown_function",
                                   fmt::format("no function `{}`", name.text.substr(0, 40)),
                                   did_you_mean(name.text, function_names(),
                                                fmt::format("functions are {}", fmt::join(function_names(), " "))));
        }
        ast::Expr result;
        result.kind = ast::Expr::Kind::call;
        result.name = name.text;
        result.span = name.span;
        if (accept("[")) {
            do {
                auto dim = dim_name(peek());
                if (!dim) return fail(dim.error());
                result.along.push_back({*dim, take().span});
            } while (accept(","));
            if (!accept("]")) return expected("',' or ']' in the dimensions of a function");
        }
        if (!accept("(")) return expected("`(` and the arguments of the function");
        do {
            skip_newlines();
            auto argument = expr();
            if (!argument) return argument;
            result.depth = std::max(result.depth, argument->depth + 1);
            result.args.push_back(std::move(*argument));
            skip_newlines();
        } while (accept(","));
        if (!accept(")")) return expected("',' or ')' in the arguments of a function");
        return result;
    }

    const Source& source_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    int nesting_ = 0;
};

}  // namespace

Result<ast::Block> parse_syntax(const Source& source) {
    auto tokens = tokenize(source);
    if (!tokens) return fail(tokens.error());
    return Parser(source, std::move(*tokens)).program();
}

}  // namespace roofline
