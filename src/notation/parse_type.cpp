#include "notation/parse_type.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t max_dims = 64;

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

}  // namespace

Result<Dtype> TypeParser::dtype(const Token& token) const {
    if (const auto found = find_dtype(token.text)) return *found;
    return tokens_.source().fail_at(
        token.span, "unknown_dtype", fmt::format("there is no dtype `{}`", token.text.substr(0, 40)),
        did_you_mean(token.text, dtype_names(), fmt::format("the dtypes are {}", fmt::join(dtype_names(), " "))));
}

Result<ast::Type> TypeParser::type() {
    tokens_.skip_newlines();
    if (tokens_.peek().kind != TokenKind::word) return tokens_.expected("a type such as bf16[B, D]");
    ast::Type type;
    type.span = tokens_.peek().span;
    const Token& word = tokens_.take();
    ROOFLINE_TRY(type.dtype, this->dtype(word));
    if (!tokens_.peek().is("[")) return tokens_.expected("`[` and the dimensions of a tensor");
    ROOFLINE_CHECK(dims(type));
    if (tokens_.peek().is("{")) {
        ROOFLINE_CHECK(unreduced(type));
    }
    if (tokens_.peek().kind == TokenKind::word && tokens_.peek().text == "in") {
        tokens_.take();
        if (tokens_.peek().kind != TokenKind::word) return tokens_.expected("a memory level after `in`");
        type.level = lowered(tokens_.take().text);
        if (type.level == "dram") type.level = "host";
    }
    if (tokens_.peek().kind == TokenKind::word && tokens_.peek().text == "at") {
        ROOFLINE_CHECK(place(type));
    }
    return type;
}

Status TypeParser::dims(ast::Type& type) {
    const Token& open = tokens_.take();
    tokens_.skip_newlines();
    if (tokens_.accept("]")) return {};
    while (true) {
        tokens_.skip_newlines();
        ROOFLINE_TRY(auto dim, this->dim());
        if (type.dims.size() == max_dims) {
            return tokens_.source().fail_at(dim.span, "too_many_dimensions",
                                            fmt::format("a tensor has more than {} dimensions", max_dims));
        }
        type.dims.push_back(std::move(dim));
        tokens_.skip_newlines();
        if (tokens_.accept("]")) return {};
        if (!tokens_.accept(",")) {
            return tokens_.wrong(tokens_.peek(), "expected ',' or ']' in the dimensions of a tensor",
                                 fmt::format("the bracket opened at column {} is not closed", open.span.column));
        }
    }
}

Result<ast::Dim> TypeParser::dim() {
    ast::Dim dim;
    dim.span = tokens_.peek().span;
    if (tokens_.peek().is("-") || tokens_.peek().kind == TokenKind::number) {
        ROOFLINE_TRY(dim.size, tokens_.size("a dimension"));
        if (tokens_.peek().kind == TokenKind::word && tokens_.peek().text.front() == '_') {
            ROOFLINE_CHECK(subscript(tokens_.take(), 0, dim.mesh));
        }
        return dim;
    }
    if (tokens_.peek().kind != TokenKind::word) return tokens_.expected("a dimension: a name or a size");
    const Token& word = tokens_.take();
    const std::size_t bar = word.text.find('_');
    dim.name = word.text.substr(0, bar);
    if (dim.name.empty()) return tokens_.wrong(word, "a dimension's name cannot start with `_`");
    if (bar != std::string_view::npos) {
        ROOFLINE_CHECK(subscript(word, bar, dim.mesh));
    }
    if (tokens_.accept("=")) {
        ROOFLINE_TRY(dim.size, tokens_.size(fmt::format("the size of `{}`", dim.name)));
    }
    return dim;
}

// Parses the mesh axes after the `_` at `bar` of a word: `_X`, `_XY`, or `_` followed by {data, X}.
Status TypeParser::subscript(const Token& word, std::size_t bar, std::vector<std::string>& mesh) {
    const std::string_view letters = word.text.substr(bar + 1);
    if (letters.empty()) {
        if (!tokens_.accept("{")) return tokens_.expected("mesh axes after `_`", "write B_X, B_XY or B_{data}");
        do {
            if (tokens_.peek().kind != TokenKind::word) return tokens_.expected("the name of a mesh axis");
            mesh.emplace_back(tokens_.take().text);
        } while (tokens_.accept(","));
        if (!tokens_.accept("}")) return tokens_.expected("`}` after the mesh axes");
        return {};
    }
    for (const char letter : letters) {
        if (!is_capital(letter)) {
            return tokens_.wrong(
                word,
                fmt::format("`{}` is not a mesh axis: axes after a bare _ are single capitals", letters.substr(0, 40)),
                fmt::format("longer names go in braces: {}_{{{}}}; dimension names have no underscore",
                            word.text.substr(0, std::min<std::size_t>(bar, 40)), letters.substr(0, 40)));
        }
        mesh.emplace_back(1, letter);
    }
    return {};
}

Status TypeParser::unreduced(ast::Type& type) {
    tokens_.take();
    const Token& word = tokens_.peek();
    if (word.kind != TokenKind::word || !word.text.starts_with("U_")) {
        return tokens_.expected("`U_` and mesh axes", "write a partial sum over X as {U_X}");
    }
    tokens_.take();
    ROOFLINE_CHECK(subscript(word, 1, type.unreduced));
    if (!tokens_.accept("}")) return tokens_.expected("`}`");
    return {};
}

// Parses the coordinates of a chip. A comma that is not followed by `axis =` does not belong to them.
Status TypeParser::place(ast::Type& type) {
    tokens_.take();
    bool more = true;
    while (more) {
        if (tokens_.peek().kind != TokenKind::word || !tokens_.peek(1).is("=")) {
            return tokens_.expected("a mesh axis and a coordinate after `at`", "write at X=0,Y=3");
        }
        const Token& axis = tokens_.take();
        tokens_.take();
        ROOFLINE_TRY(auto place, tokens_.coordinate(axis.text));
        type.at.push_back({std::string(axis.text), place, axis.span});
        more = tokens_.peek().is(",") && tokens_.peek(1).kind == TokenKind::word && tokens_.peek(2).is("=");
        if (more) tokens_.take();
    }
    return {};
}

}  // namespace roofline::core
