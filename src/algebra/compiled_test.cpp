#include "algebra/compiled.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace roofline::core;

namespace {

const Polynomial B = Polynomial::dim("B");
const Polynomial D = Polynomial::dim("D");
const Polynomial F = Polynomial::dim("F");

std::vector<double> values(const std::vector<WeightedSum>& sums, const std::vector<std::string>& dims,
                           std::span<const double> sizes, const Sizes& fixed = {}) {
    const CompiledSums compiled(sums, dims, fixed);
    std::vector<double> results(compiled.size(), -1);
    compiled.evaluate(sizes, results);
    return results;
}

}  // namespace

TEST_CASE("each sum adds its polynomials, weighted, at the sizes passed") {
    const std::vector<WeightedSum> sums{{{2 * B * D + 3, 0.5}, {D * D, 10}}, {}, {{B, 1}}};
    // (2*3*5 + 3)/2 + 10*25, nothing, 3
    CHECK(values(sums, {"B", "D"}, std::array{3.0, 5.0}) == std::vector<double>{266.5, 0, 3});
    CHECK(values(sums, {"D", "B"}, std::array{5.0, 3.0}) == std::vector<double>{266.5, 0, 3});
}

TEST_CASE("fixed dimensions are constants") {
    CHECK(values({{{B * D * D * F, 1}}}, {"B"}, std::array{2.0}, {{"D", 3}, {"F", 7}}) == std::vector<double>{126});
}

TEST_CASE("pieces are counted whole") {
    const Polynomial tiled = Polynomial::symbol({"B", 128}) * Polynomial::symbol({"B", 128}) * D;
    CHECK(values({{{tiled, 1}}}, {"B", "D"}, std::array{129.0, 5.0}) == std::vector<double>{20});  // 2 * 2 * 5
    CHECK(values({{{tiled, 1}}}, {"B", "D"}, std::array{128.0, 5.0}) == std::vector<double>{5});
    CHECK(values({{{tiled, 1}}}, {"D"}, std::array{5.0}, {{"B", 257}}) == std::vector<double>{45});
}
