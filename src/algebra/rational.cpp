#include "algebra/rational.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

namespace roofline::core {

namespace {

constexpr Int128 lowest = static_cast<Int128>(1) << 126 << 1;  // -2^127, which has no negation

Int128 magnitude(Int128 value) { return value < 0 ? -value : value; }

Int128 gcd(Int128 a, Int128 b) {
    a = magnitude(a);
    b = magnitude(b);
    if (a == 1 || b == 1) return 1;  // for whole numbers, the common case
    constexpr Int128 short_most = std::numeric_limits<std::uint64_t>::max();
    while (b != 0) {
        if (a <= short_most && b <= short_most) {  // one instruction divides these
            return std::gcd(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
        }
        const Int128 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/// Divides by a greatest common divisor, which is mostly 1.
Int128 divided(Int128 value, Int128 divisor) { return divisor == 1 ? value : value / divisor; }

/// The largest whole number at or below numerator / denominator; denominator > 0.
Int128 floor_divide(Int128 numerator, Int128 denominator) {
    const Int128 quotient = numerator / denominator;
    return numerator % denominator < 0 ? quotient - 1 : quotient;
}

/// numerator - denominator * floor_divide(numerator, denominator), without computing that product, which may overflow.
Int128 floor_rest(Int128 numerator, Int128 denominator) {
    const Int128 rest = numerator % denominator;
    return rest < 0 ? rest + denominator : rest;
}

/// Whether a/b < c/d for positive b and d. Cross products could overflow, so whole parts are compared first, then the
/// inverted remainders.
bool less(Int128 a, Int128 b, Int128 c, Int128 d) {
    while (true) {
        const Int128 left = floor_divide(a, b);
        const Int128 right = floor_divide(c, d);
        if (left != right) {
            return left < right;
        }
        const Int128 left_rest = floor_rest(a, b);
        const Int128 right_rest = floor_rest(c, d);
        if (left_rest == 0 || right_rest == 0) {
            return left_rest == 0 && right_rest != 0;
        }
        // left_rest/b < right_rest/d  <=>  d/right_rest < b/left_rest
        const Int128 old_b = b;
        a = d;
        b = right_rest;
        c = old_b;
        d = left_rest;
    }
}

std::string digits(Int128 value) {
    std::string text;
    Int128 rest = magnitude(value);
    do {
        text.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
        rest /= 10;
    } while (rest != 0);
    if (value < 0) {
        text.push_back('-');
    }
    std::reverse(text.begin(), text.end());
    return text;
}

}  // namespace

Rational::Rational(Int128 numerator, Int128 denominator, bool overflowed)
    : numerator_(numerator), denominator_(denominator), overflowed_(overflowed) {
    if (overflowed || numerator == lowest || denominator <= 0) {
        numerator_ = 0;
        denominator_ = 1;
        overflowed_ = true;
        return;
    }
    if (denominator_ != 1) {
        const Int128 common = gcd(numerator_, denominator_);
        numerator_ = divided(numerator_, common);
        denominator_ = divided(denominator_, common);
    }
}

Rational::Rational(std::int64_t numerator, std::int64_t denominator)
    : Rational(denominator < 0 ? -Int128{numerator} : Int128{numerator}, magnitude(denominator), false) {}

Rational Rational::overflow() { return {0, 1, true}; }

double Rational::to_double() const {
    if (overflowed_) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    if (denominator_ == 1) {
        return static_cast<double>(numerator_);
    }
    return static_cast<double>(static_cast<long double>(numerator_) / static_cast<long double>(denominator_));
}

std::optional<std::int64_t> Rational::to_int64() const {
    if (!is_whole() || numerator_ > std::numeric_limits<std::int64_t>::max() ||
        numerator_ < std::numeric_limits<std::int64_t>::min()) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(numerator_);
}

std::string Rational::to_text() const {
    if (overflowed_) {
        return "overflow";
    }
    return denominator_ == 1 ? digits(numerator_) : digits(numerator_) + "/" + digits(denominator_);
}

Rational Rational::operator+(const Rational& other) const {
    if (overflowed_ || other.overflowed_) {
        return overflow();
    }
    if (denominator_ == 1 && other.denominator_ == 1) {  // whole numbers, the common case
        Int128 whole = 0;
        if (__builtin_add_overflow(numerator_, other.numerator_, &whole)) return overflow();
        return {whole, 1, false};
    }
    const Int128 common = gcd(denominator_, other.denominator_);
    const Int128 scale = divided(denominator_, common);
    const Int128 other_scale = divided(other.denominator_, common);
    Int128 left = 0;
    Int128 right = 0;
    Int128 sum = 0;
    if (__builtin_mul_overflow(numerator_, other_scale, &left) ||
        __builtin_mul_overflow(other.numerator_, scale, &right) || __builtin_add_overflow(left, right, &sum)) {
        return overflow();
    }
    // Any factor that still cancels divides `common`, so it is removed before the denominators are multiplied.
    const Int128 cancelled = sum == lowest ? 1 : gcd(sum, common);
    Int128 denominator = 0;
    if (__builtin_mul_overflow(scale, divided(other.denominator_, cancelled), &denominator)) {
        return overflow();
    }
    return {divided(sum, cancelled), denominator, false};
}

Rational Rational::operator-(const Rational& other) const {
    Rational negated = other;
    negated.numerator_ = -negated.numerator_;
    return *this + negated;
}

Rational Rational::operator*(const Rational& other) const {
    if (overflowed_ || other.overflowed_) {
        return overflow();
    }
    if (denominator_ == 1 && other.denominator_ == 1) {
        Int128 whole = 0;
        if (__builtin_mul_overflow(numerator_, other.numerator_, &whole)) return overflow();
        return {whole, 1, false};
    }
    const Int128 first = gcd(numerator_, other.denominator_);
    const Int128 second = gcd(other.numerator_, denominator_);
    Int128 numerator = 0;
    Int128 denominator = 0;
    if (__builtin_mul_overflow(divided(numerator_, first), divided(other.numerator_, second), &numerator) ||
        __builtin_mul_overflow(divided(denominator_, second), divided(other.denominator_, first), &denominator)) {
        return overflow();
    }
    return {numerator, denominator, false};
}

Rational Rational::operator/(const Rational& other) const {
    if (other.overflowed_ || other.numerator_ == 0) {
        return overflow();
    }
    Rational inverse = other;
    inverse.numerator_ = other.numerator_ < 0 ? -other.denominator_ : other.denominator_;
    inverse.denominator_ = magnitude(other.numerator_);
    return *this * inverse;
}

bool Rational::operator<(const Rational& other) const {
    if (overflowed_ || other.overflowed_) {
        return !overflowed_ && other.overflowed_;
    }
    return less(numerator_, denominator_, other.numerator_, other.denominator_);
}

Rational Rational::common_factor(const Rational& a, const Rational& b) {
    Int128 denominator = 0;
    if (a.overflowed_ || b.overflowed_ ||
        __builtin_mul_overflow(a.denominator_ / gcd(a.denominator_, b.denominator_), b.denominator_, &denominator)) {
        return overflow();
    }
    return {gcd(a.numerator_, b.numerator_), denominator, false};
}

Rational Rational::ceil() const {
    if (overflowed_) {
        return overflow();
    }
    if (denominator_ == 1) return *this;
    return {-floor_divide(-numerator_, denominator_), 1, false};
}

}  // namespace roofline::core
