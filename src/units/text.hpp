// Parsing and printing of quantities: "3TB/s", "8.1e11", "16 GiB", "4Ki"; 819e9 bytes/s -> "819 GB/s".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "units/quantity.hpp"

namespace roofline::core {

/// Parses a positive whole number with an optional multiplier: k M G T are powers of 1000, Ki Mi Gi Ti of 1024; "1e6"
/// and "1.5k" are accepted when they are whole. Errors: not a number, zero, negative, fraction, beyond 2^63-1.
[[nodiscard]] Result<std::int64_t> parse_size(std::string_view text);

/// Parses a number with an SI prefix (k M G T P E, m u n p for seconds, watts and joules; Ki Mi Gi Ti Pi Ei for bytes)
/// and the unit of Q, or a bare number in base units (for a price: USD/h). Units: FLOP/s (also OP/s, FLOPS), FLOP, B/s
/// (bytes) and bit/s, B and bit, s (also min, h), Hz, W, J, USD/h. Spaces between number and unit are allowed, and so
/// is any case of letters other than m, M and the b of bytes. Errors: not a number, another unit than Q's (which is
/// named), negative, not finite. Q: FlopRate, Flops, Bandwidth, Bytes, Seconds, Frequency, Power, Joules, Price.
template <class Q>
[[nodiscard]] Result<Q> parse_quantity(std::string_view text);

using roofline::to_text;

/// Returns a capacity in powers of 1024 if that is exact to a tenth ("16 GiB", "128 MiB"), otherwise in powers of 1000
/// ("24.1 GB").
[[nodiscard]] std::string capacity_text(Bytes);

/// Returns a number with `digits` significant digits, without an exponent if that is readable: 127.77, 0.0123, 1.2e+15.
/// Below ten million no digit before the point is dropped: 2048 stays 2048 with three digits.
[[nodiscard]] std::string number_text(double value, int digits = 3);

/// Returns a fraction in percent, without the sign: a whole number, but "0.34" and "99.9" where that would be none or
/// all.
[[nodiscard]] std::string percent_text(double fraction);

/// Returns every digit of a rate in its shorter form: 8.19e11, 1.97e14, 63015384615.
[[nodiscard]] std::string exact_text(double value);

/// 69206016 -> "69,206,016".
[[nodiscard]] std::string grouped(std::int64_t value);

}  // namespace roofline::core
