#include "units/quantity.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <type_traits>

namespace roofline::core {

namespace {

template <class A, class B>
concept addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept comparable = requires(A a, B b) { a < b; };

static_assert(addable<Bytes, Bytes>);
static_assert(!addable<Bytes, Seconds>);
static_assert(!addable<Bytes, double>);
static_assert(!comparable<Bandwidth, FlopRate>);
static_assert(!std::is_convertible_v<double, Bytes>);
static_assert(std::is_same_v<decltype(Flops{} / FlopRate{}), Seconds>);
static_assert(std::is_same_v<decltype(Bandwidth{} * Seconds{}), Bytes>);
static_assert(std::is_same_v<decltype(Price{} * Seconds{}), Usd>);
static_assert(std::is_same_v<decltype(Flops{} / Flops{}), Scalar>);

}  // namespace

TEST_CASE("quantities compute as their numbers do") {
    Seconds total = Flops{6} / FlopRate{2};
    CHECK(total == Seconds{3});
    total += Seconds{1};
    CHECK(2 * total - Seconds{1} == Seconds{7});
    CHECK(total / 8 == Seconds{0.5});
    CHECK(Seconds{1} < Seconds{2});
}

TEST_CASE("the ridge of 1.97e14 FLOP/s over 8.2e11 B/s is 240.24 FLOP/B") {
    const Intensity ridge = FlopRate{1.97e14} / Bandwidth{8.2e11};
    CHECK(ridge.value == approx(240.243902).epsilon(1e-8));
}

}  // namespace roofline::core
