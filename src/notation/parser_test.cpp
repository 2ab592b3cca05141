#include "notation/parser.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace roofline::core;
using Kind = ast::Expr::Kind;

namespace {

ast::Block block_of(std::string_view text) {
    const Source source(text, "");
    auto block = parse_syntax(source);
    REQUIRE_MESSAGE(block.has_value(), text, "\n", to_text(block.error()));
    return *block;
}

ast::Assignment assignment(std::string_view text) {
    const ast::Block block = block_of(text);
    REQUIRE(block.items.size() == 1);
    REQUIRE(std::holds_alternative<ast::Assignment>(block.items[0]));
    return std::get<ast::Assignment>(block.items[0]);
}

// Returns the expression with every operation in parentheses.
std::string tree(const ast::Expr& expr) {
    if (expr.kind == Kind::name) return expr.name;
    if (expr.kind == Kind::number) return fmt::format("{}", expr.number);
    if (expr.kind == Kind::tensor) return expr.name + ":tensor";
    std::string along;
    for (const ast::Word& word : expr.along) along += (along.empty() ? "" : ",") + word.text;
    std::string text = expr.kind == Kind::call ? expr.name : "*";
    if (!along.empty()) text += "[" + along + "]";
    text += "(";
    for (const ast::Expr& argument : expr.args) text += (text.back() == '(' ? "" : " ") + tree(argument);
    return text + ")";
}

std::string tree_of(const std::string& expression) { return tree(*assignment("R = " + expression).value); }

Error syntax_error_of(std::string_view text) {
    const Source source(text, "");
    const auto block = parse_syntax(source);
    REQUIRE_FALSE_MESSAGE(block.has_value(), text);
    REQUIRE(block.error().place.has_value());
    return block.error();
}

std::string nested(int times, std::string_view open, std::string_view inside, std::string_view close) {
    std::string text;
    for (int i = 0; i < times; ++i) text += open;
    text += inside;
    for (int i = 0; i < times; ++i) text += close;
    return text;
}

}  // namespace

TEST_CASE("products bind tighter than sums; both go from left to right") {
    CHECK(tree_of("a + b * c - d") == "sub(add(a *(b c)) d)");
    CHECK(tree_of("a / b * c") == "*(div(a b) c)");
    CHECK(tree_of("(a + b) * -c") == "*(add(a b) neg(c))");
    CHECK(tree_of("1e-5 + -2") == "add(1e-05 -2)");
}

TEST_CASE("a product is flat, except for parentheses and named sums") {
    CHECK(tree_of("a * b @ c") == "*(a b c)");
    CHECK(tree_of("(a * b) * c") == "*(*(a b) c)");
    CHECK(tree_of("a * (b * c)") == "*(a *(b c))");
    CHECK(tree_of("a *_D b *_{E, F} c") == "*[E,F](*[D](a b) c)");
    CHECK(tree_of("a *_D b * c") == "*(*[D](a b) c)");
    CHECK(tree_of("softmax[S](causal[T,S](q * k), relu(v))") == "softmax[S](causal[T,S](*(q k)) relu(v))");
}

TEST_CASE("declarations, computations, one-liners and sizes are distinguished") {
    const ast::Assignment declared = assignment("param W : int8[D, F=4Ki] in VMEM");
    CHECK(declared.param);
    CHECK_FALSE(declared.value.has_value());
    CHECK(declared.type->dims[1].size == 4096);
    CHECK(declared.type->level == "vmem");
    const ast::Assignment computed = assignment("H : f32[B] = B2 using f16");
    CHECK((computed.value.has_value() && computed.using_dtype == Dtype::f16 && !computed.one_liner));
    const ast::Assignment line = assignment("A: bf16[B] * C -> R: bf16[B]");
    CHECK((line.one_liner && line.name == "R"));
    CHECK(tree(*line.value) == "*(A:tensor C)");

    const ast::Block block = block_of("mesh X=4, Y=2\nB = 256, D=8k; H = 2 * x\nfuse\n{ K = x }\nrepeat 3 { K = x }");
    REQUIRE(block.items.size() == 5);
    CHECK(std::get<ast::Mesh>(block.items[0]).axes[1].axis.size == 2);
    CHECK(std::get<ast::Sizes>(block.items[1]).sizes[1].size == 8000);
    CHECK(std::get<ast::Assignment>(block.items[2]).name == "H");
    CHECK(std::get<ast::Block>(block.items[3]).kind == Block::Kind::fuse);
    CHECK(std::get<ast::Block>(block.items[4]).number == 3);
}

TEST_CASE("subscripts: single capitals after a bare underscore, any names in braces") {
    const ast::Type type = *assignment("A : bf16[B_XY=64, D_{data, X}, 128_Z]{U_W}").type;
    CHECK(type.dims[0].name == "B");
    CHECK(type.dims[0].mesh == std::vector<std::string>{"X", "Y"});
    CHECK(type.dims[0].size == 64);
    CHECK(type.dims[1].mesh == std::vector<std::string>{"data", "X"});
    CHECK(type.dims[2].name.empty());
    CHECK(type.dims[2].mesh == std::vector<std::string>{"Z"});
    CHECK(type.unreduced == std::vector<std::string>{"W"});
}

TEST_CASE("a mistake is reported where it is") {
    const auto check = [](std::string_view text, std::string_view code, int line, int column) {
        const Error error = syntax_error_of(text);
        CAPTURE(text);
        CAPTURE(error.message);
        CHECK(error.code == code);
        CHECK(error.place->line == line);
        CHECK(error.place->column == column);
    };
    check("bf16[B, D -> bf16[B]", "syntax", 1, 11);
    check("A : bf16[B]\nC = A *", "syntax", 2, 8);
    check("A : bf61[B]", "unknown_dtype", 1, 5);
    check("C = gleu(A)", "unknown_function", 1, 5);
    // A bracket followed by arguments belongs to a function, not to a dtype.
    check("C = f[S](A)", "unknown_function", 1, 5);
    check("A : bf16[B=0]", "size", 1, 12);
    check("A : bf16[B=-4]", "syntax", 1, 12);
    check("A : bf16[B_data]", "syntax", 1, 10);
    check("fuse { A : bf16[B]", "syntax", 1, 19);
    check("param C = A", "syntax", 1, 11);
    check("C = 5k * A", "syntax", 1, 5);
    check("_D : bf16[B]", "syntax", 1, 1);
}

TEST_CASE("nesting and length have limits, and texts just within them are read") {
    CHECK(syntax_error_of("R = " + nested(101, "(", "a", ")")).code == "too_deep");
    CHECK(tree_of(nested(99, "(", "a", ")")) == "a");
    CHECK(syntax_error_of(nested(101, "fuse {", "", "}")).code == "too_deep");
    CHECK(block_of(nested(100, "fuse {", "", "}")).items.size() == 1);
    CHECK(syntax_error_of("R = a" + nested(500, "+a", "", "")).code == "too_deep");  // 501 operands: depth 501
    CHECK(assignment("R = a" + nested(499, "+a", "", "")).value->depth == 500);
    CHECK(syntax_error_of("R = a" + nested(500, "*a", "", "")).code == "syntax");
    CHECK(assignment("R = a" + nested(499, "*a", "", "")).value->args.size() == 500);
    CHECK(syntax_error_of("A : bf16[a" + nested(64, ",a", "", "") + "]").code == "too_many_dimensions");
}
