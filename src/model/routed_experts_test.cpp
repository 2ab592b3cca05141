#include "model/routed_experts.hpp"

#include <doctest/doctest.h>

#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

Program parsed(std::string_view text) {
    auto program = parse_program(text);
    if (!program) FAIL(program.error().message);
    return std::move(*program);
}

constexpr std::string_view routed =
    "B=3, T=2, D=4, E=5, A=2, C=7, F=6\n"
    "X : bf16[B, T, D]\nChosen : int32[B, T, A]\nparam W : bf16[E, D, F]\n"
    "Y : bf16[E, C, F] = dispatch[E,C](X, Chosen) *_D W\n"
    "Z : bf16[E, C, F] = dispatch[E,C](X, Chosen) *_D W\n";

}  // namespace

TEST_CASE("a dispatch gives the dimensions of experts, once for each pair of experts and rows") {
    const auto found = routed_experts(parsed(routed));
    REQUIRE(found.size() == 1);
    CHECK(found[0].experts == "E");
    CHECK(found[0].rows == "C");
    CHECK(found[0].tokens == std::vector<std::string>{"B", "T"});
    CHECK(found[0].choices == std::vector<std::string>{"A"});
    CHECK(routed_experts(parsed("A : bf16[B, D]\nZ : bf16[B, D] = relu(A)\n")).empty());
}

TEST_CASE("the smallest number of experts is that of one token, with a row for each token") {
    const Program program = parsed(routed);
    Sizes sizes = program.sizes;
    bind_fewest_experts(program, sizes);
    CHECK(sizes.at("E") == 2);
    CHECK(sizes.at("C") == 6);
    sizes["E"] = 1;
    bind_fewest_experts(program, sizes);
    CHECK(sizes.at("E") == 1);
}

TEST_CASE("products of dimensions stay below 2^50, and dimensions without a size count as 1") {
    CHECK(product_of({"B", "T", "Q"}, {{"B", 3}, {"T", 5}}) == 15);
    CHECK(product_of({"B", "T"}, {{"B", std::int64_t{1} << 40}, {"T", std::int64_t{1} << 40}}) == std::int64_t{1}
                                                                                                      << 50);
}
