#include "base/result.hpp"

#include <doctest/doctest.h>

namespace roofline::core {

TEST_CASE("an error with a place shows the line with a caret, then the hint") {
    const std::string line = "bf16[B, D] * int8[D, F -> bf16[B, F]";
    const Error error{"syntax", "expected ',' or ']' in the dimensions of a tensor",
                      "the bracket opened at column 18 is not closed", Place{"", 1, 24, line, 24}};
    CHECK(to_text(error) ==
          "error: expected ',' or ']' in the dimensions of a tensor\n"
          "  1 | bf16[B, D] * int8[D, F -> bf16[B, F]\n"
          "    |                        ^\n"
          "hint: the bracket opened at column 18 is not closed");
}

TEST_CASE("a file name, its line and column precede the line") {
    const Error error{"syntax", "unknown dtype `bf17`", "", Place{"mlp.roof", 13, 5, "A : bf17[B]", 5}};
    CHECK(to_text(error) ==
          "error: unknown dtype `bf17`\n"
          "  mlp.roof:13:5\n"
          "  13 | A : bf17[B]\n"
          "     |     ^");
}

TEST_CASE("an error without place or hint is one line") {
    CHECK(to_text(Error{"io", "cannot read x", "", {}}) == "error: cannot read x");
    CHECK(to_text(Error{"io", "cannot read x", "", Place{"x", 0, 0, "", 0}}) == "error: cannot read x\n  x");
}

TEST_CASE("the caret is placed correctly after tabs and multi-byte characters") {
    // Bytes: a tab, two for the micro sign, three for the bullet U+2022, then the wrong character at byte 7.
    const Error error{"syntax", "m", "", Place{"", 1, 7, "\t\xC2\xB5\xE2\x80\xA2X", 7}};
    CHECK(to_text(error) ==
          "error: m\n"
          "  1 |  \xC2\xB5\xE2\x80\xA2X\n"
          "    |    ^");
}

TEST_CASE("control sequences for terminals are removed") {
    const Error error{"syntax", "bad \x1B[31m", "see\x07",
                      Place{"a\x1B"
                            "b",
                            1, 3,
                            "\x1B[2J\xFF\xC2\x9B"
                            "Z\x7F",
                            8}};
    CHECK(to_text(error) ==
          "error: bad ?[31m\n"
          "  a?b:1:3\n"
          "  1 | ?[2J??Z?\n"
          "    |       ^\n"
          "hint: see?");
}

TEST_CASE("a caret beyond the text is placed at its end") {
    const Error error{"syntax", "m", "", Place{"", 2, 90, "abc", 90}};
    CHECK(to_text(error) == "error: m\n  2 | abc\n    |    ^");
}

TEST_CASE("nearest finds a likely mistake and nothing else") {
    const std::vector<std::string> functions{"relu", "gelu", "silu", "softmax"};
    CHECK(nearest("reul", functions) == "relu");  // a swap is one mistake
    CHECK(nearest("SoftMax", functions) == "softmax");
    CHECK(nearest("sofmaxx", functions) == "softmax");
    CHECK_FALSE(nearest("tanh", functions));
    CHECK(nearest("Dd", {"B", "D", "F"}) == "D");
    CHECK(nearest("b", {"B", "D"}) == "B");
    CHECK_FALSE(nearest("X", {"B", "D"}));  // single letters are not likely mistakes of each other
    CHECK_FALSE(nearest("", {"B"}));
    CHECK_FALSE(nearest(std::string(1'000'000, 'a'), {"a"}));
    CHECK_FALSE(nearest("relu", {}));
}

TEST_CASE("nearest prefers the nearest, then the first") {
    CHECK(nearest("tpu-v5", {"tpu-v5litepod", "tpu-v5e", "tpu-v5p"}) == "tpu-v5e");
}

TEST_CASE("did_you_mean falls back to the given text") {
    CHECK(did_you_mean("Dd", {"D"}) == "did you mean `D`?");
    CHECK(did_you_mean("Q", {"D"}, "it has none") == "it has none");
    CHECK(did_you_mean("Q", {"D"}) == "");
}

TEST_CASE("fail makes a result of any type") {
    const Result<int> result = fail("code", "message", "hint");
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error() == Error{"code", "message", "hint", {}});
}

}  // namespace roofline::core
