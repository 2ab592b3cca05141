#include "program/program.hpp"

#include <doctest/doctest.h>

#include "program/functions.hpp"

using namespace roofline::core;

namespace {

Value value_of(Dtype dtype, const std::vector<std::string>& dims, const std::string& name = {}) {
    Value value;
    value.name = name;
    value.type.dtype = dtype;
    for (const std::string& dim : dims) value.type.axes.push_back({dim, {}});
    return value;
}

}  // namespace

TEST_CASE("types print as they are written, bare numbers and subscripts included") {
    Program program;
    program.sizes = {{"B", 64}, {"#1", 128}};
    TensorType type = value_of(Dtype::bf16, {"B", "D", "#1"}).type;
    CHECK(type_text(program, type) == "bf16[B, D, 128]");
    std::set<std::string> sized;
    CHECK(type_text(program, type, &sized) == "bf16[B=64, D, 128]");
    CHECK(type_text(program, type, &sized) == "bf16[B, D, 128]");  // a size is written once
    type.axes[0].mesh = {"X", "Y"};
    type.axes[1].mesh = {"data", "X"};
    type.unreduced = {"Z"};
    CHECK(type_text(program, type) == "bf16[B_XY, D_{data,X}, 128]{U_Z}");
    CHECK(type_text(program, {}) == "bf16[]");
    CHECK(dim_text(program, "#1") == "128");
    CHECK(dim_text(program, "#9") == "#9");  // no size is known
}

TEST_CASE("unnamed stored values are called A, B, C ...; names that are taken and intermediates are left out") {
    Program program;
    program.values = {value_of(Dtype::bf16, {}), value_of(Dtype::bf16, {}, "B"), value_of(Dtype::bf16, {}),
                      value_of(Dtype::bf16, {})};
    program.values[2].intermediate = true;
    label_values(program);
    CHECK(value_name(program, 0) == "A");
    CHECK(value_name(program, 1) == "B");
    CHECK(value_name(program, 2).empty());
    CHECK(value_name(program, 3) == "C");
    program.values.assign(28, value_of(Dtype::bf16, {}));
    label_values(program);
    CHECK(value_name(program, 25) == "Z");
    CHECK(value_name(program, 27) == "B1");
}

TEST_CASE("bytes count the scales of block formats") {
    const Polynomial BD = Polynomial::dim("B") * Polynomial::dim("D");
    CHECK(bytes_of({}, value_of(Dtype::bf16, {"B", "D"})) == 2 * BD);
    CHECK(bytes_of({}, value_of(Dtype::int4, {"B", "D"})) == Polynomial(Rational(1, 2)) * BD);
    // nvfp4: 4 bits and an 8-bit scale for 16 elements, 4.5 bits = 9/16 B; mxfp4: one scale for 32, 4.25 bits = 17/32
    // B.
    CHECK(bytes_of({}, value_of(Dtype::nvfp4, {"B", "D"})) == Polynomial(Rational(9, 16)) * BD);
    CHECK(bytes_of({}, value_of(Dtype::mxfp4, {"B", "D"})) == Polynomial(Rational(17, 32)) * BD);
    CHECK(bytes_of({}, value_of(Dtype::f32, {})) == Polynomial(4));
}

TEST_CASE("each causal plane that an operation covers halves it, once even if it is named repeatedly") {
    Program program;
    program.values = {value_of(Dtype::bf16, {"T", "S"}), value_of(Dtype::bf16, {"T", "S"})};
    program.values[0].masks = {{"T", "S"}};
    program.values[1].masks = {{"T", "S"}, {"T", "H"}};
    program.sizes = {{"T", 8}, {"S", 8}, {"H", 8}};
    Op op;
    op.inputs = {{0, {"T", "S"}}};
    op.output = {1, {"T", "S"}};
    const auto share = [&](const std::vector<std::string>& dims) {
        return masked(program, op, dims, elements({}, dims)).coefficient(elements({}, dims).terms().front().first);
    };
    CHECK(share({"T", "S"}) == Rational(1, 2));
    CHECK(share({"T", "S", "H"}) == Rational(1, 4));
    CHECK(share({"T"}) == Rational(1));
}

TEST_CASE(
    "a mask leaves what its rows see: they are the last positions, and each sees those up to its own or a window of "
    "them") {
    for (const std::int64_t rows : {1, 2, 3, 5, 8, 12}) {
        for (const std::int64_t window : {0, 1, 3, 7, 8, 20}) {
            Program program;
            program.values = {value_of(Dtype::bf16, {"T", "S"})};
            program.values[0].masks = {{"T", "S", window > 0 ? "W" : ""}};
            program.sizes = {{"T", rows}, {"S", 8}};
            if (window > 0) program.sizes["W"] = window;
            Op op;
            op.output = {0, {"T", "S"}};
            CAPTURE(rows);
            CAPTURE(window);
            std::int64_t seen = 0;  // counted one by one
            double field = 0;       // elements of the diagonal within the triangle count half
            for (std::int64_t row = 0; row < rows; ++row) {
                const std::int64_t position = 8 - rows + row;
                std::int64_t here = 0;
                for (std::int64_t column = 0; column < 8; ++column) {
                    here += column <= position && (window == 0 || column > position - window) ? 1 : 0;
                }
                seen += here;
                const bool on_triangle = position >= 0 && (window == 0 || position < window);
                field += static_cast<double>(here) - (on_triangle ? 0.5 : 0);
            }
            const std::vector<std::string> dims{"T", "S"};
            CHECK(masked(program, op, dims, elements({}, dims), true).evaluate(program.sizes)->to_double() ==
                  static_cast<double>(seen));
            const double by_field = masked(program, op, dims, elements({}, dims)).evaluate(program.sizes)->to_double();
            if (rows == 1) {
                CHECK(by_field == static_cast<double>(seen));  // a single row sees all of it
            } else {
                CHECK(by_field == field);
            }
        }
    }
}

TEST_CASE("sizes from outside take precedence with a note; an unknown dimension is an error") {
    Program program;
    program.dims = {"Batch", "D"};
    program.sizes = {{"Batch", 8}};
    CHECK_FALSE(program.sized());
    const auto notes = bind_sizes(program, {{"Batch", 16}, {"D", 4}});
    REQUIRE(notes.has_value());
    CHECK(*notes == std::vector<std::string>{"Batch = 16 from the command line replaces 8 in the text"});
    CHECK(program.sizes == Sizes{{"Batch", 16}, {"D", 4}});
    CHECK(program.sized());
    CHECK(bind_sizes(program, {{"D", 4}})->empty());  // the same size needs no note
    const auto unknown = bind_sizes(program, {{"Bacth", 4}});
    REQUIRE_FALSE(unknown.has_value());
    CHECK(unknown.error().hint == "did you mean `Batch`?");
}

TEST_CASE("a program is sharded when a tensor is split or holds partial sums") {
    Program program;
    program.values = {value_of(Dtype::bf16, {"B"})};
    CHECK_FALSE(program.sharded());
    program.values[0].type.unreduced = {"X"};
    CHECK(program.sharded());
    program.values[0].type.unreduced.clear();
    program.values[0].type.axes[0].mesh = {"X"};
    CHECK(program.sharded());
}

TEST_CASE("a value without dimensions has one element") {
    CHECK(elements({}, {}) == Polynomial(1));
    CHECK(elements({}, {"B", "D", "B"}).to_text() == "B^2*D");
}

TEST_CASE("functions are found by their exact name, each name once") {
    REQUIRE(find_function("softmax") != nullptr);
    CHECK(find_function("softmax")->kind == FunctionKind::keep);
    CHECK(find_function("Softmax") == nullptr);
    for (const FunctionInfo& function : all_functions())
        CHECK(find_function(function.name)->formula == function.formula);
}
