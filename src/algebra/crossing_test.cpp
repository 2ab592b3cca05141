#include <doctest/doctest.h>

#include "algebra/dims_test.hpp"
#include "algebra/roots.hpp"
#include "base/approx_test.hpp"

namespace roofline::core {

namespace {

using State = Crossing::State;

const Polynomial flops = 2 * B * D * F;
const Polynomial bf16_bytes = 2 * B * D + 2 * D * F + 2 * B * F;
const Polynomial int8_weight_bytes = 2 * B * D + D * F + 2 * B * F;

Sizes square(std::int64_t side) { return {{"D", side}, {"F", side}}; }

WeightedSum over(const Polynomial& work, double rate) { return {{work, 1 / rate}}; }

double root(const std::optional<Crossing>& crossing) {
    REQUIRE(crossing);
    REQUIRE(crossing->root);
    return *crossing->root;
}

Crossing solved(const WeightedSum& ours, const WeightedSum& theirs, const Sizes& sizes = {}) {
    const auto crossing = solve_crossing(ours, theirs, "B", sizes);
    REQUIRE(crossing);
    return *crossing;
}

}  // namespace

TEST_CASE("bf16 matmul on 1.97e14 FLOP/s and 8.2e11 B/s") {
    const WeightedSum math = over(flops, 1.97e14);
    const WeightedSum memory = over(bf16_bytes, 8.2e11);
    // With ridge point r = 240.24: 2BD^2 / r = 4BD + 2D^2, so B = D / (D/r - 2).
    const auto crossing = solve_crossing(math, memory, "B", square(8192));
    CHECK(root(crossing) == approx(255.213).epsilon(1e-5));
    CHECK(crossing->state == State::crossing);
    CHECK(crossing->above);
    CHECK(solve_crossing_limit(math, memory, "B") == approx(1.97e14 / 8.2e11));
    CHECK(solve_crossing_limit(math, memory, "D") == approx(1.97e14 / 8.2e11));
}

TEST_CASE("int8 weights with bf16 activations, 1.97e14 FLOP/s and 8.1e11 B/s") {
    const WeightedSum math = over(flops, 1.97e14);
    const WeightedSum memory = over(int8_weight_bytes, 8.1e11);
    // r = 243.2099: B = D / (2D/r - 4).
    CHECK(root(solve_crossing(math, memory, "B", square(8000))) == approx(129.4776).epsilon(1e-6));
    CHECK(root(solve_crossing(math, memory, "B", square(16000))) == approx(125.4179).epsilon(1e-6));
    CHECK(solve_crossing_limit(math, memory, "B") == approx(121.60494));
    CHECK(solve_crossing(math, memory, "B", square(128)) == Crossing{State::never, true, std::nullopt});
}

TEST_CASE("the same with a ridge point of 243") {
    const WeightedSum math = over(flops, 243);
    const WeightedSum memory = over(int8_weight_bytes, 1);
    CHECK(root(solve_crossing(math, memory, "B", square(8000))) == approx(129.3586).epsilon(1e-6));
    CHECK(root(solve_crossing(math, memory, "B", square(16000))) == approx(125.3063).epsilon(1e-6));
    CHECK(solve_crossing(math, memory, "B", square(128))->state == State::never);
}

TEST_CASE("a weight per batch element is never bound by compute") {
    const WeightedSum math = over(flops, 243);
    const WeightedSum memory = over(B * D + B * D * F + B * F, 1);
    CHECK(solve_crossing(math, memory, "B", square(1 << 20))->state == State::never);
    CHECK_FALSE(solve_crossing_limit(math, memory, "B"));
}

TEST_CASE("the states over sizes from 1") {
    CHECK(solved({{2 * B, 1}}, {{B, 1}}) == Crossing{State::always, true, std::nullopt});
    CHECK(solved({{B, 1}}, {{2 * B, 1}}) == Crossing{State::never, true, std::nullopt});
    CHECK(solved({{B, 1}}, {{B, 1}}) == Crossing{State::always, true, std::nullopt});
    CHECK(solved({{B, 1}}, {{Polynomial(Rational(1, 2)), 1}}) == Crossing{State::always, true, 0.5});
    CHECK(solved({{B, 1}}, {{Polynomial(1), 1}}) == Crossing{State::always, true, 1.0});
    CHECK(solved({{B, 1}}, {{Polynomial(8), 1}}) == Crossing{State::crossing, true, 8.0});
    CHECK(solved({{Polynomial(8), 1}}, {{B, 1}}) == Crossing{State::crossing, false, 8.0});
    CHECK(solved({{Polynomial(1), 0.5}}, {{B, 1}}) == Crossing{State::never, true, std::nullopt});
    CHECK(solved({}, {}) == Crossing{State::always, true, std::nullopt});
    // (B - 3)^2 only touches zero.
    CHECK(solved({{B * B, 1}, {Polynomial(9), 1}}, {{6 * B, 1}}).state == State::always);
    CHECK(solved({{6 * B, 1}}, {{B * B, 1}, {Polynomial(9), 1}}).state == State::never);
}

TEST_CASE("of several roots, the first one at which ours overtakes") {
    // (B - 2)(B - 5)(B - 7) = B^3 - 14B^2 + 59B - 70: up at 2, down at 5, up at 7.
    const WeightedSum up{{B * B * B, 1}, {59 * B, 1}};
    const WeightedSum down{{14 * B * B, 1}, {Polynomial(70), 1}};
    CHECK(root(solve_crossing(up, down, "B", {})) == approx(2));
    // In the opposite direction it falls behind at 2, overtakes at 5 and falls behind at 7.
    const Crossing other = solved(down, up);
    CHECK(*other.root == approx(5));
    CHECK(other.above);
}

TEST_CASE("rounding errors of equal terms are not a crossing") {
    const WeightedSum thrice{{B, 0.1}, {B, 0.1}, {B, 0.1}, {Polynomial(1), 1}};
    const WeightedSum once{{B, 0.3}, {Polynomial(2), 1}};
    CHECK(solved(thrice, once) == Crossing{State::never, true, std::nullopt});
}

TEST_CASE("a dimension without a size leaves no answer") {
    CHECK_FALSE(solve_crossing(over(flops, 1), over(bf16_bytes, 1), "B", {{"D", 8}}));
    // Nor does a rate of zero give one.
    CHECK_FALSE(solve_crossing(over(flops, 0), over(bf16_bytes, 1), "B", square(8)));
}

TEST_CASE("the dimension's own size and tiles") {
    // 4 whole tiles of 128 for D = 500; B's own tiles count as B/128, whatever its current size.
    const Polynomial tiled = Polynomial::symbol({"B", 128}) * Polynomial::symbol({"D", 128});
    const auto crossing = solve_crossing({{tiled, 1}}, {{Polynomial(10), 1}}, "B", {{"B", 7}, {"D", 500}});
    CHECK(root(crossing) == approx(320));
}

TEST_CASE("limits that do not exist") {
    // D and F have separate terms: which one wins depends on how they grow.
    CHECK_FALSE(solve_crossing_limit({{B * D + F, 1}}, {{3 * D + 2 * F, 1}}, "B"));
    CHECK_FALSE(solve_crossing_limit({{B * D + 3 * F, 1}}, {{3 * D + B * F, 1}}, "B"));  // (B - 3)(D - F)
    CHECK(solve_crossing_limit({{B * D + B * F, 1}}, {{3 * D + 3 * F, 1}}, "B") == approx(3));
    CHECK_FALSE(solve_crossing_limit({{3 * D, 1}}, {{B * D, 1}}, "B"));  // ours only falls behind
    CHECK_FALSE(solve_crossing_limit({}, {}, "B"));
}

TEST_CASE("if leading terms cancel, the next terms determine the limit") {
    CHECK(solve_crossing_limit({{D * F + B * D, 1}}, {{D * F + 5 * D, 1}}, "B") == approx(5));
}

TEST_CASE("without other dimensions the limit is the root") {
    CHECK(solve_crossing_limit({{B, 1}}, {{Polynomial(8), 1}}, "B") == approx(8));
}

TEST_CASE("the whole size of a crossing is one at which ours is greater") {
    const auto at = [](double root, bool above) {
        return Crossing{Crossing::State::crossing, above, root}.whole_size();
    };
    CHECK(at(255.204, true) == 256);
    CHECK(at(255.204, false) == 255);
    CHECK(at(128.0, true) == 128);
    CHECK(at(128.00000000001, true) == 128);  // 128 except for rounding
    CHECK(at(1e30, true) == std::nullopt);
    CHECK(Crossing{}.whole_size() == std::nullopt);
}

}  // namespace roofline::core
