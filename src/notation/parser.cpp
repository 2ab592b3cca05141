#include "notation/parser.hpp"

#include <fmt/format.h>

#include "notation/lexer.hpp"
#include "notation/parse_expr.hpp"
#include "notation/parse_type.hpp"
#include "notation/token_reader.hpp"

namespace roofline::core {

namespace {

constexpr int max_block_nesting = 100;

/// The parser of statements and blocks.
class Parser {
public:
    Parser(const Source& source, std::vector<Token> tokens)
        : tokens_(source, std::move(tokens)), types_(tokens_), exprs_(tokens_) {}

    Result<ast::Block> program() {
        ast::Block block;
        ROOFLINE_CHECK(items(block, false));
        return block;
    }

private:
    Status items(ast::Block& block, bool nested) {
        while (true) {
            tokens_.skip_newlines();
            if (tokens_.peek().kind == TokenKind::end) {
                if (!nested) return {};
                return tokens_.expected("`}`",
                                        fmt::format("the block that opened at line {} is not closed", block.span.line));
            }
            if (nested && tokens_.accept("}")) return {};
            ROOFLINE_TRY(auto next, item());
            block.items.push_back(std::move(next));
            if (nested && tokens_.peek().is("}")) continue;
            if (tokens_.peek().kind != TokenKind::newline && tokens_.peek().kind != TokenKind::end) {
                return tokens_.expected("the end of the statement");
            }
        }
    }

    Result<ast::Item> item() {
        const Token& first = tokens_.peek();
        if (first.kind == TokenKind::word) {
            const Token& second = tokens_.peek(1);
            if (first.text == "fuse" && opens_block(1)) return block(ast_kind::fuse);
            if (first.text == "repeat" && (second.kind == TokenKind::word || second.kind == TokenKind::number)) {
                return block(ast_kind::repeat);
            }
            if (first.text == "part" && second.kind == TokenKind::word && opens_block(2)) return part();
            if (first.text == "when" && second.kind == TokenKind::word) return when();
            if (first.text == "option" && second.kind == TokenKind::word) return options();
            if (first.text == "role" && second.kind == TokenKind::word) return role();
            if (first.text == "mesh" && second.kind == TokenKind::word && tokens_.peek(2).is("=")) return mesh();
            if (second.is("=") && is_size(2)) return sizes();
        }
        return assignment();
    }

    using ast_kind = Block::Kind;

    [[nodiscard]] bool opens_block(std::size_t ahead) const {
        while (tokens_.peek(ahead).kind == TokenKind::newline) ++ahead;
        return tokens_.peek(ahead).is("{");
    }

    // `B = 4096` gives a size; `B = 4096 * x` would be an assignment.
    [[nodiscard]] bool is_size(std::size_t ahead) const {
        if (tokens_.peek(ahead).is("-")) ++ahead;
        if (tokens_.peek(ahead).kind != TokenKind::number) return false;
        const Token& next = tokens_.peek(ahead + 1);
        return next.is(",") || next.is("}") || next.kind == TokenKind::newline || next.kind == TokenKind::end;
    }

    Result<ast::Item> block(ast_kind kind) {
        ast::Block block;
        block.kind = kind;
        block.span = tokens_.take().span;
        if (++nesting_ > max_block_nesting) {
            return tokens_.source().fail_at(block.span, "too_deep",
                                            fmt::format("blocks are nested more than {} deep", max_block_nesting));
        }
        if (kind == ast_kind::repeat) {
            if (tokens_.peek().kind == TokenKind::number) {
                ROOFLINE_TRY(block.number, tokens_.size("the count of a repeat"));
            } else {
                ROOFLINE_TRY(block.count, tokens_.dim_name(tokens_.take()));
            }
        }
        tokens_.skip_newlines();
        if (!tokens_.accept("{")) return tokens_.expected("`{`");
        ROOFLINE_CHECK(items(block, true));
        --nesting_;
        return ast::Item(std::move(block));
    }

    Status deeper(Span span) {
        if (++nesting_ <= max_block_nesting) return {};
        return tokens_.source().fail_at(span, "too_deep",
                                        fmt::format("blocks are nested more than {} deep", max_block_nesting));
    }

    Status braces(ast::Block& block) {
        tokens_.skip_newlines();
        if (!tokens_.accept("{")) return tokens_.expected("`{`");
        return items(block, true);
    }

    // Parses part attention { ... }
    Result<ast::Item> part() {
        ast::Block block;
        block.span = tokens_.take().span;
        ROOFLINE_CHECK(deeper(block.span));
        block.part = tokens_.take().text;
        ROOFLINE_CHECK(braces(block));
        --nesting_;
        return ast::Item(std::move(block));
    }

    // Parses when tied and not biased { ... } else { ... }
    Result<ast::Item> when() {
        ast::Block block;
        block.span = tokens_.take().span;
        ROOFLINE_CHECK(deeper(block.span));
        ast::Condition condition;
        condition.any.emplace_back();
        bool more = true;
        while (more) {
            const bool negated = tokens_.peek().kind == TokenKind::word && tokens_.peek().text == "not";
            if (negated) tokens_.take();
            if (tokens_.peek().kind != TokenKind::word) return tokens_.expected("the name of an option");
            const Token& name = tokens_.take();
            condition.any.back().push_back({std::string(name.text), !negated, name.span});
            const bool word = tokens_.peek().kind == TokenKind::word;
            more = word && (tokens_.peek().text == "and" || tokens_.peek().text == "or");
            if (more && tokens_.take().text == "or") condition.any.emplace_back();
        }
        block.when = std::move(condition);
        ROOFLINE_CHECK(braces(block));
        if (const std::size_t mark = tokens_.mark(); is_else()) {
            ast::Block other;
            other.span = block.span;
            ROOFLINE_CHECK(braces(other));
            block.otherwise = std::move(other.items);
        } else {
            tokens_.back_to(mark);
        }
        --nesting_;
        return ast::Item(std::move(block));
    }

    // Takes an `else` that opens a block, on this line or a later one.
    bool is_else() {
        tokens_.skip_newlines();
        if (tokens_.peek().kind != TokenKind::word || tokens_.peek().text != "else" || !opens_block(1)) return false;
        tokens_.take();
        return true;
    }

    // Parses option tied = yes, biased = no
    Result<ast::Item> options() {
        tokens_.take();
        ast::Options list;
        do {
            tokens_.skip_newlines();
            if (tokens_.peek().kind != TokenKind::word) return tokens_.expected("the name of an option");
            const Token& name = tokens_.take();
            if (!tokens_.accept("=")) return tokens_.expected("`=` and yes or no");
            const Token& value = tokens_.peek();
            if (value.kind != TokenKind::word || (value.text != "yes" && value.text != "no")) {
                return tokens_.expected("yes or no");
            }
            tokens_.take();
            list.options.push_back({std::string(name.text), value.text == "yes", name.span});
        } while (tokens_.accept(","));
        return ast::Item(std::move(list));
    }

    // Parses role columns = F, I
    Result<ast::Item> role() {
        tokens_.take();
        const Token& name = tokens_.take();
        ast::Role role{std::string(name.text), {}, name.span};
        if (!tokens_.accept("=")) return tokens_.expected("`=` and dimensions");
        do {
            tokens_.skip_newlines();
            if (tokens_.peek().kind != TokenKind::word) return tokens_.expected("the name of a dimension");
            ROOFLINE_TRY(auto dim, tokens_.dim_name(tokens_.take()));
            role.dims.push_back(std::move(dim));
        } while (tokens_.accept(","));
        return ast::Item(std::move(role));
    }

    // Parses NAME=SIZE
    Result<ast::Size> named_size(std::string_view what) {
        tokens_.skip_newlines();
        if (tokens_.peek().kind != TokenKind::word) return tokens_.expected(fmt::format("the name of {}", what));
        const Token& name = tokens_.take();
        ROOFLINE_TRY(auto checked, tokens_.dim_name(name));
        if (!tokens_.accept("=")) return tokens_.expected("`=` and a size");
        ROOFLINE_TRY(auto value, tokens_.size(fmt::format("the size of `{}`", checked)));
        return ast::Size{checked, value, name.span};
    }

    // Parses mesh X=4, Y=16 on ici.0+ici.2
    Result<ast::Item> mesh() {
        tokens_.take();
        ast::Mesh mesh;
        do {
            ROOFLINE_TRY(auto axis, named_size("a mesh axis"));
            ROOFLINE_TRY(auto links, this->links());
            mesh.axes.push_back({std::move(axis), std::move(links)});
        } while (tokens_.accept(","));
        return ast::Item(std::move(mesh));
    }

    Result<std::vector<std::string>> links() {
        std::vector<std::string> links;
        if (tokens_.peek().kind != TokenKind::word || tokens_.peek().text != "on") return links;
        tokens_.take();
        do {
            if (tokens_.peek().kind != TokenKind::word) {
                return tokens_.expected("a tier of the network", "write `on ici.0`, `on ici.0+ici.1` or `on nvlink`");
            }
            std::string link(tokens_.take().text);
            if (tokens_.accept(".")) {
                if (tokens_.peek().kind != TokenKind::number) return tokens_.expected("the number of a torus axis");
                link += fmt::format(".{}", tokens_.take().text);
            }
            links.push_back(std::move(link));
        } while (tokens_.accept("+"));
        return links;
    }

    Result<ast::Item> sizes() {
        ast::Sizes list;
        do {
            ROOFLINE_TRY(auto size, named_size("a dimension"));
            list.sizes.push_back(std::move(size));
        } while (tokens_.accept(","));
        return ast::Item(std::move(list));
    }

    Result<ast::Item> assignment() {
        ast::Assignment result;
        result.span = tokens_.peek().span;
        if (tokens_.peek().kind == TokenKind::word && (tokens_.peek(1).is("=") || tokens_.peek(1).is(":"))) {
            ROOFLINE_CHECK(tokens_.tensor_name(tokens_.peek()));
        }
        if (tokens_.peek().kind == TokenKind::word && tokens_.peek(1).kind == TokenKind::word) {
            result.frozen = tokens_.peek().text == "frozen";
            result.param = result.frozen || tokens_.peek().text == "param";
            result.cache = tokens_.peek().text == "cache";
            if (result.param || result.cache) tokens_.take();
        }
        const bool declared = result.param || result.cache;
        if (tokens_.peek().kind == TokenKind::word && tokens_.peek(1).is("=")) {  // A = expr
            result.name = tokens_.take().text;
            tokens_.take();
            return with_value(std::move(result));
        }
        if (tokens_.peek().kind == TokenKind::word && tokens_.peek(1).is(":")) {
            const std::size_t start = tokens_.mark();
            result.name = tokens_.take().text;
            tokens_.take();
            ROOFLINE_TRY(auto type, types_.type());
            result.type = std::move(type);
            if (tokens_.peek().kind == TokenKind::newline || tokens_.peek().kind == TokenKind::end ||
                tokens_.peek().is("}")) {
                return ast::Item(std::move(result));  // A : type
            }
            if (tokens_.accept("=")) return with_value(std::move(result));  // A : type = expr
            if (declared) {
                return tokens_.expected("`=` or the end of the statement",
                                        "write `param`, `frozen` or `cache` before a declaration on a separate line");
            }
            tokens_.back_to(start);  // A : type * ... -> C : type
        }
        if (declared) return tokens_.expected("`:` and a type", "write `param W : bf16[D, F]`");
        return one_liner();
    }

    Result<ast::Item> with_value(ast::Assignment result) {
        if (result.param || result.cache) {
            return tokens_.wrong(tokens_.peek(),
                                 result.param ? "a parameter is an input and cannot be computed"
                                              : "a cache is declared first, and computed in a separate statement",
                                 "leave out the first word, or the `= ...`");
        }
        tokens_.skip_newlines();
        ROOFLINE_TRY(result.value, exprs_.expr());
        ROOFLINE_CHECK(using_clause(result));
        return ast::Item(std::move(result));
    }

    Result<ast::Item> one_liner() {
        ast::Assignment result;
        result.span = tokens_.peek().span;
        result.one_liner = true;
        ROOFLINE_TRY(result.value, exprs_.expr());
        if (!tokens_.accept("->")) {
            return tokens_.expected(
                "an operator or `-> result`",
                "write the result's type: `... -> bf16[B, F]`, or give the result a name: `C = ...`");
        }
        tokens_.skip_newlines();
        if (tokens_.peek().kind == TokenKind::word && tokens_.peek(1).is(":")) {
            ROOFLINE_CHECK(tokens_.tensor_name(tokens_.peek()));
            result.name = tokens_.take().text;
            tokens_.take();
        }
        ROOFLINE_TRY(result.type, types_.type());
        ROOFLINE_CHECK(using_clause(result));
        return ast::Item(std::move(result));
    }

    Status using_clause(ast::Assignment& result) {
        if (tokens_.peek().kind != TokenKind::word || tokens_.peek().text != "using") return {};
        tokens_.take();
        if (tokens_.peek().kind != TokenKind::word) return tokens_.expected("a dtype after `using`");
        ROOFLINE_TRY(result.using_dtype, types_.dtype(tokens_.take()));
        return {};
    }

    TokenReader tokens_;
    TypeParser types_;
    ExprParser exprs_;
    int nesting_ = 0;
};

}  // namespace

Result<ast::Block> parse_syntax(const Source& source) {
    ROOFLINE_TRY(auto tokens, tokenize(source));
    return Parser(source, std::move(tokens)).program();
}

}  // namespace roofline::core
