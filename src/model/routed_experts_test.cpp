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

TEST_CASE("the expected number of experts that at least one token chooses") {
    CHECK(likely_experts(8, 2, 1) == 2);
    CHECK(likely_experts(8, 2, 2) == 4);      // 8 (1 - 0.75^2) = 3.5
    CHECK(likely_experts(256, 8, 10) == 70);  // 256 (1 - (31/32)^10) = 69.6
    CHECK(likely_experts(256, 8, 100000) == 256);
    CHECK(likely_experts(4, 4, 1) == 4);
    CHECK(likely_experts(4, 9, 1) == 4);
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

TEST_CASE("the busiest of several chips has more routes than the mean, by chance or as measured") {
    // the expected maximum of 8 standard normal numbers is 1.4236 (Harter 1961), and Blom's z 0.7 % larger; 64 tokens
    // with 8 choices of 256 experts make 64 routes per chip, so 64 + 1.42 * 8; of its 32 experts
    // 1 - (1 - 1/32)^64 = 0.8689 are read, 27.80 +- 1.909
    const SharedExperts eight{256, 8, 8};
    const ExpertWork work = busiest_chip(eight, 64, 0);
    CHECK(work.read / 8 == approx(27.80 + 1.4236 * 1.909).epsilon(0.002));
    CHECK(work.read * work.rows / 8 == approx(64 + 1.4236 * 8).epsilon(0.002));
    // drawing the choices of 4,000 such batches at random gave 30.3 experts and 75.4 routes on average
    CHECK(work.read / 8 == approx(30.3).epsilon(0.01));
    CHECK(work.read * work.rows / 8 == approx(75.4).epsilon(0.01));
    // a chip has only 32 experts
    CHECK(busiest_chip(eight, 1000, 0).read == approx(256));
    const ExpertWork measured = busiest_chip(eight, 64, 0.5);
    CHECK(measured.read == work.read);
    CHECK(measured.read * measured.rows == approx(1024));
    // one chip has everything
    const ExpertWork alone = busiest_chip({256, 8, 1}, 64, 0.5);
    CHECK(alone.read == expected_experts(256, 8, 64));
    CHECK(alone.read * alone.rows == approx(512));
}
