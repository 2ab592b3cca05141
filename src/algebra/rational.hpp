// Exact rational numbers. A result that does not fit into 127 bits becomes `overflowed` and stays so; callers check
// once, at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace roofline::core {

__extension__ typedef __int128 Int128;

class Rational {
public:
    constexpr Rational() = default;
    constexpr Rational(std::int64_t whole) : numerator_(whole) {}  // NOLINT: a whole number is a rational
    Rational(std::int64_t numerator, std::int64_t denominator);    ///< denominator > 0

    [[nodiscard]] bool overflowed() const { return overflowed_; }
    [[nodiscard]] bool is_zero() const { return !overflowed_ && numerator_ == 0; }
    [[nodiscard]] bool is_negative() const { return numerator_ < 0; }
    [[nodiscard]] bool is_whole() const { return !overflowed_ && denominator_ == 1; }
    [[nodiscard]] Int128 numerator() const { return numerator_; }
    [[nodiscard]] Int128 denominator() const { return denominator_; }
    [[nodiscard]] double to_double() const;
    [[nodiscard]] std::optional<std::int64_t> to_int64() const;  ///< if whole and in range
    [[nodiscard]] std::string to_text() const;                   ///< "3", "1/2"

    Rational operator+(const Rational& other) const;
    Rational operator-(const Rational& other) const;
    Rational operator*(const Rational& other) const;
    Rational operator/(const Rational& other) const;  ///< division by zero gives overflowed
    Rational& operator+=(const Rational& other) { return *this = *this + other; }
    Rational& operator*=(const Rational& other) { return *this = *this * other; }
    bool operator==(const Rational& other) const = default;
    bool operator<(const Rational& other) const;

    [[nodiscard]] Rational ceil() const;

    /// Returns the greatest rational of which both are whole multiples: 1/6 for 2/3 and 1/2. Never negative; for 0 and
    /// x it is |x|.
    [[nodiscard]] static Rational common_factor(const Rational& a, const Rational& b);

private:
    Rational(Int128 numerator, Int128 denominator, bool overflowed);
    [[nodiscard]] static Rational overflow();

    Int128 numerator_ = 0;
    Int128 denominator_ = 1;
    bool overflowed_ = false;
};

}  // namespace roofline::core
