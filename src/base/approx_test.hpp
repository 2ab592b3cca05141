// The comparison of computed numbers in tests.
#pragma once

#include <doctest/doctest.h>

namespace roofline::core {

/// Compares equal within a relative error of 1.2e-5, or of what .epsilon() says. doctest's own comparison adds that
/// error times 1 to its tolerance, and compared with 1 every time in seconds is tiny.
inline doctest::Approx approx(double value) { return doctest::Approx(value).scale(1e-300); }

}  // namespace roofline::core
