#include <doctest/doctest.h>

#include "notation/notation.hpp"
#include "work/work.hpp"

using namespace roofline::core;

TEST_CASE("a collective of one chip's program has the bytes of its array") {
    const auto program = parse_program(
        "mesh X=4, Y=2\n"
        "A : bf16[16, 8]\n"
        "G : bf16[64, 8] = all_gather[X](A)\n"
        "R : bf16[64, 8] = all_reduce[X,Y](G)\n"
        "repeat 3 { P : bf16[64, 8] = permute[Y](R) }\n");
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    const auto work = derive_work(*program);
    REQUIRE(work);
    REQUIRE(work->total.messages.size() == 3);
    const auto bytes = [&](std::size_t i) {
        return work->total.messages[i].message.bytes.evaluate(program->sizes)->to_double();
    };
    CHECK(bytes(0) == 1024);  // 4 chips have 16 x 8 numbers of 2 bytes each
    CHECK(bytes(1) == 1024);
    CHECK(work->total.messages[1].message.axes == std::vector<std::string>{"X", "Y"});
    CHECK(bytes(2) == 2048);  // of both chips
    CHECK(work->total.messages[2].count.evaluate(program->sizes) == Rational(3));
    CHECK(work->total.memory.empty());

    const std::string printed = print(*program);
    const auto again = parse_program(printed);
    REQUIRE(again);
    CHECK(*again == *program);
}

TEST_CASE("collectives that cannot be meant are refused") {
    const auto error_of = [](std::string_view text) {
        const auto program = parse_program(text);
        REQUIRE_FALSE(program.has_value());
        return program.error().message;
    };
    CHECK(error_of("A : bf16[8]\nB : bf16[8] = all_reduce[X](A)\n") == "there is no mesh axis `X`");
    CHECK(error_of("mesh X=2\nA : bf16[8]\nB : bf16[8] = all_reduce[Y](A)\n") == "there is no mesh axis `Y`");
    CHECK(error_of("mesh X=2\nA : bf16[8]\nB : bf16[8] = all_reduce[X,X](A)\n") ==
          "mesh axis `X` is used twice in one collective");
    CHECK(error_of("mesh X=2\nA : bf16[8]\nB : bf16[8] = all_reduce(A)\n") ==
          "`all_reduce` needs the mesh axes that it goes over, as in all_reduce[X](x)");
    CHECK(error_of("mesh X=2\nA : bf16[8]\nB = all_reduce[X](A)\n") ==
          "the result of `all_reduce` does not follow from its arguments");
    CHECK(error_of("mesh X=2, Y=2\nA : bf16[8_Y]\nB : bf16[8] = all_reduce[X](A)\n") ==
          "`all_reduce` is a collective of one chip's program, but types of this program are split");
    CHECK(error_of("mesh X=2\nB : bf16[8] = all_reduce[X]()\n") == "`all_reduce` needs an argument");
}

TEST_CASE("numbers that are made where they are needed have no argument") {
    const auto program = parse_program("fuse { I : int32[8] = iota()\n J : int32[8] = I + 1 }\n");
    REQUIRE_MESSAGE(program.has_value(), to_text(program.error()));
    CHECK(*parse_program(print(*program)) == *program);
}
