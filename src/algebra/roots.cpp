#include "algebra/roots.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace roofline::core {

namespace {

/// The value at x > 0, divided by x^degree when x > 1, so that the sign is right and nothing overflows.
double scaled_value(const Univariate& c, double x) {
    if (x <= 1) {
        return std::accumulate(c.rbegin(), c.rend(), 0.0, [x](double value, double next) { return value * x + next; });
    }
    return std::accumulate(c.begin(), c.end(), 0.0, [x](double value, double next) { return value / x + next; });
}

int changes_of_sign(const Univariate& c) {
    int changes = 0;
    int last = 0;
    for (const double value : c) {
        const int now = sign(value);
        changes += now != 0 && last != 0 && now != last ? 1 : 0;
        last = now != 0 ? now : last;
    }
    return changes;
}

/// Returns the polynomial without leading zeros and without roots at zero.
Univariate stripped(Univariate c) {
    while (!c.empty() && c.back() == 0) {
        c.pop_back();
    }
    c.erase(c.begin(), std::find_if(c.begin(), c.end(), [](double value) { return value != 0; }));
    return c;
}

Univariate derivative(const Univariate& c) {
    Univariate slope;
    for (std::size_t k = 1; k < c.size(); ++k) {
        slope.push_back(c[k] * static_cast<double>(k));
    }
    return slope;
}

/// The root between low and high, where the signs differ: the interval is halved on a logarithmic scale while the ends
/// are far apart, until no number is between them.
double bisect(const Univariate& c, double low, double high) {
    const int low_sign = sign_at(c, low);
    while (true) {
        const double middle = high > 2 * low ? std::sqrt(low) * std::sqrt(high) : low + (high - low) / 2;
        if (!(middle > low && middle < high)) {
            return middle;
        }
        const int middle_sign = sign_at(c, middle);
        if (middle_sign == 0) {
            return middle;
        }
        (middle_sign == low_sign ? low : high) = middle;
    }
}

/// Whether the value at x is only rounding: a root that only touches zero.
bool touches_zero(const Univariate& c, double x) {
    Univariate sizes(c.size());
    std::transform(c.begin(), c.end(), sizes.begin(), [](double value) { return std::abs(value); });
    const double rounding = 4 * static_cast<double>(c.size()) * std::numeric_limits<double>::epsilon();
    return std::abs(scaled_value(c, x)) <= rounding * scaled_value(sizes, x);
}

/// The roots of a x^2 + b x + c without cancellation; the discriminant is exact to rounding.
std::vector<double> quadratic_roots(double c, double b, double a) {
    const double product = 4 * a * c;
    const double discriminant = std::fma(b, b, -product) - std::fma(4 * a, c, -product);
    if (discriminant < 0 || std::isnan(discriminant)) {
        return {};
    }
    const double q = -0.5 * (b + std::copysign(std::sqrt(discriminant), b));
    std::vector<double> roots;
    if (q != 0) {
        roots = {q / a, c / q};
    }
    return roots;
}

/// Roots in (low, high) of a scaled polynomial, each between two roots of its derivative.
std::vector<double> roots_between(const Univariate& given, double low, double high) {
    const Univariate c = stripped(given);
    const int changes = changes_of_sign(c);
    if (changes == 0) {  // Descartes' rule: no positive root; with one sign change there is exactly one
        return {};
    }
    if (c.size() == 2) {
        return {-c[0] / c[1]};
    }
    if (c.size() == 3) {
        return quadratic_roots(c[0], c[1], c[2]);
    }
    std::vector<double> walls{low};
    if (changes > 1) {
        std::vector<double> turns = roots_between(derivative(c), low, high);
        std::sort(turns.begin(), turns.end());
        std::copy_if(turns.begin(), turns.end(), std::back_inserter(walls),
                     [&](double x) { return x > low && x < high; });
    }
    walls.push_back(high);
    std::vector<double> roots;
    double left = low;
    for (std::size_t i = 1; i < walls.size(); ++i) {
        // Around a root that only touches zero the signs are noise, so both sides are avoided.
        const bool touching = i + 1 < walls.size() && touches_zero(c, walls[i]);
        const double clearance = touching ? std::min(1e-5 * walls[i], (walls[i] - walls[i - 1]) / 4) : 0;
        const double right = walls[i] - clearance;
        if (sign_at(c, left) * sign_at(c, right) < 0) {
            roots.push_back(bisect(c, left, right));
        }
        if (touching) {
            roots.push_back(walls[i]);
        }
        left = walls[i] + (touching ? std::min(1e-5 * walls[i], (walls[i + 1] - walls[i]) / 4) : 0);
    }
    return roots;
}

/// x = t * 2^shift makes the first and last coefficients about equally large; then the largest is scaled to about 1.
/// Powers of two round nothing, and a coefficient that underflows relative to the largest would have no effect anyway.
struct Scaled {
    Univariate coefficients;
    int shift = 0;
};

Scaled scale(const Univariate& c) {
    const auto exponent = [&c](std::size_t k) {
        return c[k] == 0 ? std::numeric_limits<int>::min() / 2 : std::ilogb(c[k]);
    };
    const double degree = static_cast<double>(c.size() - 1);
    Scaled result;
    result.shift = static_cast<int>(std::lround((exponent(0) - exponent(c.size() - 1)) / degree));
    int largest = std::numeric_limits<int>::min();
    for (std::size_t k = 0; k < c.size(); ++k) {
        largest = std::max(largest, exponent(k) + static_cast<int>(k) * result.shift);
    }
    for (std::size_t k = 0; k < c.size(); ++k) {
        result.coefficients.push_back(std::ldexp(c[k], static_cast<int>(k) * result.shift - largest));
    }
    return result;
}

/// An upper bound of all positive roots: twice the largest |c[n-k]/c[n]|^(1/k) (Fujiwara).
double upper_bound(const Univariate& c) {
    const std::size_t degree = c.size() - 1;
    double bound = 0;
    for (std::size_t k = 1; k <= degree; ++k) {
        bound = std::max(bound, std::pow(std::abs(c[degree - k] / c[degree]), 1.0 / static_cast<double>(k)));
    }
    return std::min(2.1 * bound, 1e300);
}

}  // namespace

int sign_at(const Univariate& coefficients, double x) { return sign(scaled_value(coefficients, x)); }

std::vector<double> positive_roots(const Univariate& coefficients) {
    if (!std::all_of(coefficients.begin(), coefficients.end(), [](double value) { return std::isfinite(value); })) {
        return {};
    }
    const Univariate c = stripped(coefficients);
    if (c.size() < 2) {
        return {};
    }
    const Scaled scaled = scale(c);
    const Univariate seen = stripped(scaled.coefficients);
    if (seen.size() < 2) {
        return {};
    }
    const double high = upper_bound(seen);
    const double low = 1 / upper_bound(Univariate(seen.rbegin(), seen.rend()));
    std::vector<double> roots;
    for (const double t : roots_between(seen, low, high)) {
        const double x = std::ldexp(t, scaled.shift);
        if (x > 0 && std::isfinite(x)) {
            roots.push_back(x);
        }
    }
    std::sort(roots.begin(), roots.end());
    const auto same = [](double a, double b) { return b - a <= 1e-12 * b; };
    roots.erase(std::unique(roots.begin(), roots.end(), same), roots.end());
    return roots;
}

}  // namespace roofline::core
