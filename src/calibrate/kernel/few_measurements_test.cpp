#include "calibrate/kernel/few_measurements.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"

namespace roofline::core {

// 0.62 and 0.38 are what models of few rows of other tables have
TEST_CASE("a model fitted to few measurements has at least the error that such models have between them") {
    KernelFit fit;
    fit.error_held_out = 0.0093;  // six cubes on a TPU v7x
    fit.rows = 6;
    CHECK(error_in_range(fit, KernelKind::contraction) == approx(0.2531).epsilon(1e-3));
    CHECK(error_in_range(fit, KernelKind::softmax) == approx(0.1551).epsilon(1e-3));
    fit.rows = 26'000;
    CHECK(error_in_range(fit, KernelKind::contraction) == approx(0.0093));
    fit.error_held_out = 0.3;
    fit.rows = 6;
    CHECK(error_in_range(fit, KernelKind::contraction) == approx(0.3));
    fit.rows = 0;  // not of a file
    CHECK(error_in_range(fit, KernelKind::attention) == approx(0.3));
}

}  // namespace roofline::core
