// Functions whose results are the same with every C library, bit for bit: they need nothing but +, -, *, / and the
// square root, which IEEE 754 rounds, and std::exp and std::log, which glibc and musl compute alike (but for a few
// results with fused multiply-add). Their hypot, cbrt, cos, expm1 and log1p differ in the last place, and so would
// answers of the program and of the page, whose core is linked with musl.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

namespace roofline::core {

/// sqrt(a^2 + b^2) of finite numbers, without overflow in between; within 2 units in the last place.
[[nodiscard]] inline double hypotenuse(double a, double b) {
    const double longer = std::max(std::abs(a), std::abs(b));
    if (longer == 0) return 0;
    const double ratio = std::min(std::abs(a), std::abs(b)) / longer;
    return longer * std::sqrt(1 + ratio * ratio);
}

/// The cube root of a finite number that is not subnormal; within 1 unit in the last place. By Newton's method for
/// y^3 = m, from the chord of the cube root between m = 1/8 and 1, whose relative error e is below 0.12. A step leaves
/// an error of e^2, so four of them reach that of the rounding.
[[nodiscard]] inline double cube_root(double x) {
    if (x == 0) return x;
    int exponent = 0;
    double m = std::frexp(std::abs(x), &exponent);  // in [1/2, 1)
    const int thirds = exponent > 0 ? (exponent + 2) / 3 : exponent / 3;
    m = std::ldexp(m, exponent - 3 * thirds);  // in [1/8, 1)
    double y = 0.5 + (m - 0.125) * (4.0 / 7);
    for (int step = 0; step < 5; ++step) y -= (y * y * y - m) / (3 * y * y);
    return std::copysign(std::ldexp(y, thirds), x);
}

/// e^x - 1, to a few units in the last place also near 0: the error of e^x - 1 is that of the logarithm of e^x (William
/// Kahan, https://people.eecs.berkeley.edu/~wkahan/Math128/Sumnfp.pdf).
[[nodiscard]] inline double exp_minus_one(double x) {
    const double power = std::exp(x);
    if (power == 1) return x;
    const double less = power - 1;
    if (less == -1 || std::isinf(power)) return less;
    return less * (x / std::log(power));
}

/// The logarithm of 1 + x, to a few units in the last place also near 0, by the same means.
[[nodiscard]] inline double log_of_one_plus(double x) {
    const double sum = 1 + x;
    return sum == 1 ? x : std::log(sum) * (x / (sum - 1));
}

/// cos(2 pi x) for x from 0 to 1, with an error below 4e-16: the series of the sine and of the cosine for an eighth of
/// a turn, up to terms below 1e-17.
[[nodiscard]] inline double cosine_of_turns(double x) {
    const double quarters = std::floor(4 * x + 0.5);
    const double angle = 2 * std::numbers::pi * (x - quarters / 4);  // the difference is exact, and 1/8 at most
    const bool is_sine = quarters == 1 || quarters == 3;
    double term = is_sine ? angle : 1;
    double terms[9] = {};
    for (int i = 0; i < 9; ++i) {
        terms[i] = term;
        const int next = 2 * i + (is_sine ? 2 : 1);
        term *= -angle * angle / (next * (next + 1));
    }
    double sum = 0;
    for (int i = 8; i >= 0; --i) sum += terms[i];  // the smallest first
    return quarters == 1 || quarters == 2 ? -sum : sum;
}

}  // namespace roofline::core
