// Dimensions for polynomials in tests.
#pragma once

#include <string>
#include <vector>

#include "algebra/polynomial.hpp"

namespace roofline::core {

inline const Polynomial B = Polynomial::dim("B");
inline const Polynomial D = Polynomial::dim("D");
inline const Polynomial F = Polynomial::dim("F");
inline const std::vector<std::string> order{"B", "D", "F"};

}  // namespace roofline::core
