#include "notation/lexer.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

std::vector<std::string> texts(std::string_view text) {
    const Source source(text, "");
    const auto tokens = tokenize(source);
    REQUIRE_MESSAGE(tokens.has_value(), to_text(tokens.error()));
    REQUIRE(tokens->back().kind == TokenKind::end);
    std::vector<std::string> found;
    for (std::size_t i = 0; i + 1 < tokens->size(); ++i) found.emplace_back((*tokens)[i].text);
    return found;
}

Error lexer_error_of(std::string_view text) {
    const Source source(text, "f.roof");
    const auto tokens = tokenize(source);
    REQUIRE_FALSE(tokens.has_value());
    REQUIRE(tokens.error().place.has_value());
    return tokens.error();
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a one-liner is split into words, numbers and symbols") {
    CHECK(texts("bf16[B_X, 4Ki]{U_Y}*W->C:f32[B=8k]") == Texts{"bf16", "[", "B_X", ",", "4Ki", "]", "{",
                                                               "U_Y",  "}", "*",   "W", "->",  "C", ":",
                                                               "f32",  "[", "B",   "=", "8k",  "]"});
}

TEST_CASE("a number ends before a subscript and keeps the sign of its exponent") {
    CHECK(texts("4096_X") == Texts{"4096", "_X"});
    CHECK(texts("1e-5+0.5-2") == Texts{"1e-5", "+", "0.5", "-", "2"});
    CHECK(texts("2e-x") == Texts{"2e", "-", "x"});
}

TEST_CASE("other spellings of the operators become the ASCII ones") {
    CHECK(texts("a @ b \xC2\xB7 c \xC3\x97 d \xE2\x8B\x85 e \xE2\x86\x92 f") ==
          Texts{"a", "*", "b", "*", "c", "*", "d", "*", "e", "->", "f"});
}

TEST_CASE("a comment ends with its line; spaces and carriage returns are ignored") {
    CHECK(texts("a # b * c\r\n\tb ; c") == Texts{"a", "\n", "b", ";", "c"});
    CHECK(texts("").empty());
}

TEST_CASE("lines and columns count from 1, in bytes") {
    const Source source("ab c\n  \xC3\x97 d", "");
    const auto tokens = tokenize(source);
    REQUIRE(tokens.has_value());
    REQUIRE(tokens->size() == 6);  // ab c newline * d end
    const auto at = [&](std::size_t i) { return std::pair{(*tokens)[i].span.line, (*tokens)[i].span.column}; };
    CHECK(at(0) == std::pair{1, 1});
    CHECK(at(1) == std::pair{1, 4});
    CHECK(at(3) == std::pair{2, 3});
    CHECK(at(4) == std::pair{2, 6});  // the sign before it is two bytes long
    CHECK(at(5) == std::pair{2, 7});
}

TEST_CASE("characters that the notation does not have are refused where they occur") {
    const Error mark = lexer_error_of("a\nb ? c");
    CHECK(mark.code == "syntax");
    CHECK(mark.place->line == 2);
    CHECK(mark.place->column == 3);
    CHECK(mark.message.find("`?`") != std::string::npos);
    // A control character, the first byte of a truncated character, a byte order mark.
    for (const std::string_view bytes : {"a \x01", "a \xC3", "a \xEF\xBB\xBF"}) {
        const Error error = lexer_error_of(bytes);
        CHECK(error.code == "not_text");
        CHECK(error.place->column == 3);
    }
    CHECK(lexer_error_of("a \xEF\xBB\xBF").message.find("0xEF") != std::string::npos);
}

TEST_CASE("tokens are named in messages") {
    const Source source("a;\n->", "");
    const auto tokens = tokenize(source);
    REQUIRE(tokens.has_value());
    CHECK(describe((*tokens)[0]) == "`a`");
    CHECK(describe((*tokens)[1]) == "`;`");
    CHECK(describe((*tokens)[2]) == "the end of the line");
    CHECK(describe((*tokens)[3]) == "`->`");
    CHECK(describe((*tokens)[4]) == "the end of the text");
}
