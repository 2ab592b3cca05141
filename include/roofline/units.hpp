// Physical quantities with dimensions: bytes / (bytes/s) is seconds, and a mismatch of dimensions does not compile.
#pragma once

#include <compare>
#include <string>

namespace roofline {

/// A double in SI base units. The template parameters are the exponents of FLOP, byte, second, joule and US dollar.
template <int FlopPower, int BytePower, int SecondPower, int JoulePower, int UsdPower>
struct Quantity {
    double value = 0;

    constexpr auto operator<=>(const Quantity&) const = default;

    constexpr Quantity operator+(Quantity other) const { return {value + other.value}; }
    constexpr Quantity operator-(Quantity other) const { return {value - other.value}; }
    constexpr Quantity operator*(double factor) const { return {value * factor}; }
    constexpr Quantity operator/(double divisor) const { return {value / divisor}; }
    constexpr Quantity& operator+=(Quantity other) {
        value += other.value;
        return *this;
    }
};

template <int F, int B, int S, int J, int U, int F2, int B2, int S2, int J2, int U2>
constexpr Quantity<F + F2, B + B2, S + S2, J + J2, U + U2> operator*(Quantity<F, B, S, J, U> a,
                                                                     Quantity<F2, B2, S2, J2, U2> b) {
    return {a.value * b.value};
}

template <int F, int B, int S, int J, int U, int F2, int B2, int S2, int J2, int U2>
constexpr Quantity<F - F2, B - B2, S - S2, J - J2, U - U2> operator/(Quantity<F, B, S, J, U> a,
                                                                     Quantity<F2, B2, S2, J2, U2> b) {
    return {a.value / b.value};
}

template <int F, int B, int S, int J, int U>
constexpr Quantity<F, B, S, J, U> operator*(double factor, Quantity<F, B, S, J, U> q) {
    return q * factor;
}

using Scalar = Quantity<0, 0, 0, 0, 0>;
using Flops = Quantity<1, 0, 0, 0, 0>;
using Bytes = Quantity<0, 1, 0, 0, 0>;
using Seconds = Quantity<0, 0, 1, 0, 0>;
using Joules = Quantity<0, 0, 0, 1, 0>;
using Usd = Quantity<0, 0, 0, 0, 1>;
using FlopRate = Quantity<1, 0, -1, 0, 0>;   ///< FLOP/s
using Bandwidth = Quantity<0, 1, -1, 0, 0>;  ///< bytes/s
using Intensity = Quantity<1, -1, 0, 0, 0>;  ///< FLOP/byte
using Frequency = Quantity<0, 0, -1, 0, 0>;  ///< Hz
using Power = Quantity<0, 0, -1, 1, 0>;      ///< W
using Price = Quantity<0, 0, -1, 0, 1>;      ///< USD/s; written and printed per hour

static_assert(Bytes{8} / Bandwidth{4} == Seconds{2});
static_assert(Flops{6} / Bytes{3} == Intensity{2});
static_assert(FlopRate{6} / Bandwidth{3} == Intensity{2});
static_assert(Power{3} * Seconds{2} == Joules{6});

/// Returns a quantity with three significant digits and an SI prefix: "84.5 us", "819 GB/s", "8.59 GFLOP". Bytes use
/// powers of 1000; prices are per hour.
[[nodiscard]] std::string to_text(Flops);
[[nodiscard]] std::string to_text(Bytes);
[[nodiscard]] std::string to_text(Seconds);
[[nodiscard]] std::string to_text(FlopRate);
[[nodiscard]] std::string to_text(Bandwidth);
[[nodiscard]] std::string to_text(Frequency);
[[nodiscard]] std::string to_text(Power);
[[nodiscard]] std::string to_text(Joules);
[[nodiscard]] std::string to_text(Price);
[[nodiscard]] std::string to_text(Intensity);

}  // namespace roofline
