#include "algebra/roots.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace roofline::core {

namespace {

void check_roots(const Univariate& coefficients, const std::vector<double>& expected, double tolerance = 1e-12) {
    const std::vector<double> roots = positive_roots(coefficients);
    REQUIRE(roots.size() == expected.size());
    for (std::size_t i = 0; i < roots.size(); ++i) {
        CHECK(roots[i] == approx(expected[i]).epsilon(tolerance));
    }
}

/// The product of (x - root).
Univariate with_roots(const std::vector<double>& roots) {
    Univariate product{1};
    for (const double root : roots) {
        Univariate next(product.size() + 1);
        for (std::size_t k = 0; k < product.size(); ++k) {
            next[k] -= root * product[k];
            next[k + 1] += product[k];
        }
        product = next;
    }
    return product;
}

}  // namespace

TEST_CASE("lines and parabolas") {
    check_roots({-6, 2}, {3});
    check_roots({6, 2}, {});
    check_roots({2, -3, 1}, {1, 2});
    check_roots({-2, 1, 1}, {1});
    check_roots({1, -2, 1}, {1});
    check_roots({1, 1, 1}, {});
    check_roots({1, -1e8, 1}, {1e-8, 1e8});  // the textbook formula loses the small root
    check_roots({-2, 0, 1}, {std::sqrt(2.0)});
}

TEST_CASE("constants, zeros and roots at zero") {
    check_roots({}, {});
    check_roots({5}, {});
    check_roots({0, 0, 0}, {});
    check_roots({0, -2, 1}, {2});
    check_roots({-2, 1, 0, 0}, {2});
}

TEST_CASE("higher degrees") {
    check_roots(with_roots({1, 2, 3}), {1, 2, 3});
    check_roots(with_roots({-1, 2, -3, 4, 0.5}), {0.5, 2, 4});
    check_roots(with_roots({1e-6, 1, 1e6, 1e12}), {1e-6, 1, 1e6, 1e12}, 1e-9);
    check_roots({-8, 0, 0, 1}, {2});
    check_roots({1, 0, 0, 0, 1}, {});
}

TEST_CASE("roots that touch zero count once") {
    check_roots(with_roots({2, 2, 5}), {2, 5}, 1e-6);
    check_roots(with_roots({1, 3, 3}), {1, 3}, 1e-6);
    check_roots(with_roots({2, 2, 3, 3}), {2, 3}, 1e-6);
    check_roots(with_roots({1, 1, 1}), {1}, 1e-4);
}

TEST_CASE("coefficients at the edges of a double") {
    check_roots({-1e300, 1e-300}, {});  // the root is outside of the range
    check_roots({-1e-300, 1e300}, {});
    check_roots({-8e300, 0, 0, 1e300}, {2});
    check_roots({-8e-300, 0, 0, 1e-300}, {2});
    check_roots({-1, 0, 0, 1e-300}, {1e100}, 1e-9);
    check_roots({2e-300, -3e-300, 1e-300}, {1, 2});
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(positive_roots({1, infinity, -1}).empty());
    CHECK(positive_roots({1, std::nan(""), -1}).empty());
    CHECK(positive_roots({-5e-324, 1e308, 5e-324, -1e308}).size() <= 3);
}

TEST_CASE("signs do not overflow") {
    CHECK(sign_at({-1, 0, 0, 1}, 1e200) == 1);
    CHECK(sign_at({1, 0, 0, -1}, 1e200) == -1);
    CHECK(sign_at({-1, 0, 0, 1}, 1e-200) == -1);
    CHECK(sign_at({-2, 1}, 2) == 0);
}

TEST_CASE("a high degree is solved quickly") {
    Univariate sparse(1001);
    sparse[0] = -1;
    sparse[500] = 3;
    sparse[1000] = -2;
    // y = x^500: -2y^2 + 3y - 1 = 0 at y = 1/2 and 1.
    check_roots(sparse, {std::pow(0.5, 1.0 / 500), 1}, 1e-12);
    Univariate dense(200);
    for (std::size_t k = 0; k < dense.size(); ++k) {
        dense[k] = k % 2 == 0 ? 1 : -1;
    }
    check_roots(dense, {1});  // (1 - x)(1 + x^2 + x^4 + ...)
}

}  // namespace roofline::core
