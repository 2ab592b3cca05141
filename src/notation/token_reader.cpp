#include "notation/token_reader.hpp"

#include <fmt/format.h>

#include <charconv>

#include "units/text.hpp"

namespace roofline::core {

bool TokenReader::accept(std::string_view symbol) {
    if (!peek().is(symbol)) return false;
    take();
    return true;
}

void TokenReader::skip_newlines() {
    while (peek().kind == TokenKind::newline) take();
}

tl::unexpected<Error> TokenReader::wrong(const Token& token, std::string message, std::string hint) const {
    return source_.fail_at(token.span, "syntax", std::move(message), std::move(hint));
}

tl::unexpected<Error> TokenReader::expected(std::string_view what, std::string hint) const {
    return wrong(peek(), fmt::format("expected {}, found {}", what, describe(peek())), std::move(hint));
}

Result<std::int64_t> TokenReader::size(std::string_view what) {
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

Result<std::int64_t> TokenReader::coordinate(std::string_view axis) {
    const Token& token = peek();
    std::int64_t place = 0;
    const char* end = token.text.data() + token.text.size();
    const bool number = token.kind == TokenKind::number;
    if (const auto [stop, error] = std::from_chars(token.text.data(), end, place);
        !number || error != std::errc{} || stop != end) {
        return expected(fmt::format("a coordinate on `{}`", axis.substr(0, 40)),
                        "coordinates are whole numbers from 0");
    }
    take();
    return place;
}

Result<std::string> TokenReader::dim_name(const Token& token) const {
    if (token.kind == TokenKind::word && token.text.find('_') == std::string_view::npos) {
        return std::string(token.text);
    }
    return wrong(token, fmt::format("expected the name of a dimension, found {}", describe(token)),
                 "names of dimensions consist of letters and digits, without underscores");
}

Status TokenReader::tensor_name(const Token& token) const {
    if (token.text.front() != '_') return {};
    return wrong(token, "a tensor's name cannot start with `_`", "`*_D` names the dimension that a product sums over");
}

}  // namespace roofline::core
