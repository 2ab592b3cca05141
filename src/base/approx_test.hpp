// How tests compare numbers that were computed.
#pragma once

#include <doctest/doctest.h>

namespace roofline::core {

/// Equal but for a relative error of 1.2e-5, or of what .epsilon() says. doctest's own comparison adds that error times 1 to what it
/// lets pass, and next to 1 every time in seconds is nothing.
inline doctest::Approx approx(double value) { return doctest::Approx(value).scale(1e-300); }

}  // namespace roofline::core
