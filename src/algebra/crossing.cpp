// The size at which one sum of terms overtakes another.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "algebra/roots.hpp"

namespace roofline::core {

namespace {

/// A difference smaller than this, relative to the numbers subtracted, is rounding.
constexpr double rounding = 1e-12;

/// In real programs no dimension has a power this high; the limit keeps hostile input from asking for huge vectors.
constexpr int highest_power = 1000;

/// ours - theirs in one variable, with the magnitudes of the numbers that were subtracted.
struct Difference {
    Univariate values;
    Univariate magnitudes;

    void add(int power, double value) {
        const auto place = static_cast<std::size_t>(power);
        if (place >= values.size()) {
            values.resize(place + 1);
            magnitudes.resize(place + 1);
        }
        values[place] += value;
        magnitudes[place] += std::abs(value);
    }

    /// Returns the values with rounding errors replaced by zero; empty when nothing is left.
    [[nodiscard]] Univariate cleaned() const {
        Univariate result = values;
        for (std::size_t k = 0; k < result.size(); ++k) {
            if (std::abs(result[k]) <= rounding * magnitudes[k]) {
                result[k] = 0;
            }
        }
        while (!result.empty() && result.back() == 0) {
            result.pop_back();
        }
        return result;
    }
};

bool is_finite(const Univariate& c) {
    return std::all_of(c.begin(), c.end(), [](double value) { return std::isfinite(value); });
}

/// Calls visit(monomial, coefficient) for every term of ours - theirs until a visit returns false.
template <class Visit>
bool for_each_term(const WeightedSum& ours, const WeightedSum& theirs, const Visit& visit) {
    for (const auto& [sum, side] : {std::pair{&ours, 1.0}, std::pair{&theirs, -1.0}}) {
        for (const auto& [polynomial, weight] : *sum) {
            for (const auto& [monomial, coefficient] : polynomial.terms()) {
                if (!visit(monomial, side * weight * coefficient.to_double())) {
                    return false;
                }
            }
        }
    }
    return true;
}

WeightedSum smooth(WeightedSum sum) {
    for (auto& [polynomial, weight] : sum) {
        polynomial = polynomial.smooth();
    }
    return sum;
}

struct SignChange {
    double root;
    bool up;  ///< from negative to positive
};

/// The sign near zero; c must have a coefficient that is not zero.
int first_sign(const Univariate& c) {
    return sign(*std::find_if(c.begin(), c.end(), [](double value) { return value != 0; }));
}

/// The sign changes in ascending order; roots that only touch zero are left out.
std::vector<SignChange> sign_changes(const Univariate& c) {
    const std::vector<double> roots = positive_roots(c);
    std::vector<SignChange> changes;
    int before = first_sign(c);
    for (std::size_t i = 0; i < roots.size(); ++i) {
        const bool last = i + 1 == roots.size();
        const int after = last ? sign(c.back()) : sign_at(c, std::sqrt(roots[i]) * std::sqrt(roots[i + 1]));
        if (after != 0 && after != before) {
            changes.push_back({roots[i], after > 0});
            before = after;
        }
    }
    return changes;
}

Crossing classify(const Univariate& difference) {
    if (difference.empty()) {
        return {Crossing::State::always, true, std::nullopt};
    }
    const std::vector<SignChange> changes = sign_changes(difference);
    std::optional<SignChange> falling;
    std::optional<double> passed;  // already overtaken at size 1
    bool ahead = first_sign(difference) > 0;
    for (const SignChange& change : changes) {
        if (change.up && change.root > 1) {
            return {Crossing::State::crossing, true, change.root};
        }
        if (!change.up && change.root >= 1) {
            falling = falling ? falling : change;
            continue;
        }
        ahead = change.up;
        passed = change.up ? std::optional(change.root) : std::nullopt;
    }
    if (falling) {
        return {Crossing::State::crossing, false, falling->root};
    }
    return ahead ? Crossing{Crossing::State::always, true, passed}
                 : Crossing{Crossing::State::never, true, std::nullopt};
}

/// Whether b = factor * a for some factor > 0.
bool proportional(const Univariate& a, const Univariate& b) {
    if (a.size() != b.size()) {
        return false;
    }
    const double factor = b.back() / a.back();
    for (std::size_t k = 0; k < a.size(); ++k) {
        if (std::abs(b[k] - factor * a[k]) > 1e-9 * std::abs(b[k])) {
            return false;
        }
    }
    return factor > 0;
}

/// The differences by the monomial of the other dimensions, all of one total degree in these.
using Form = std::map<Monomial, Difference>;

std::optional<double> root_of(const Form& form) {
    std::optional<Univariate> shared;
    for (const auto& [others, difference] : form) {
        const Univariate values = difference.cleaned();
        if (!is_finite(values) || (shared && !values.empty() && !proportional(*shared, values))) {
            return std::nullopt;
        }
        if (!shared && !values.empty()) {
            shared = values;
        }
    }
    for (const SignChange& change : shared ? sign_changes(*shared) : std::vector<SignChange>{}) {
        if (change.up) {
            return change.root;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<Crossing> solve_crossing(const WeightedSum& ours, const WeightedSum& theirs, const std::string& dim,
                                       const Sizes& sizes) {
    Difference difference;
    const bool complete = for_each_term(ours, theirs, [&](const Monomial& monomial, double value) {
        int power = 0;
        for (const auto& [symbol, exponent] : monomial) {
            if (symbol.dim == dim) {
                power += exponent;
                value /= std::pow(static_cast<double>(symbol.divisor), exponent);
                continue;
            }
            const auto size = sizes.find(symbol.dim);
            if (size == sizes.end()) {
                return false;
            }
            value *= std::pow(Rational(size->second, symbol.divisor).ceil().to_double(), exponent);
        }
        if (power > highest_power) {
            return false;
        }
        difference.add(power, value);
        return true;
    });
    if (!complete || !is_finite(difference.values)) {
        return std::nullopt;
    }
    return classify(difference.cleaned());
}

std::optional<double> solve_crossing_limit(const WeightedSum& ours, const WeightedSum& theirs, const std::string& dim) {
    std::map<int, Form, std::greater<>> by_degree;
    const bool complete = for_each_term(smooth(ours), smooth(theirs), [&](const Monomial& monomial, double value) {
        Monomial others;
        int power = 0;
        int degree = 0;
        for (const Factor& factor : monomial) {
            const bool is_dim = factor.symbol.dim == dim;
            (is_dim ? power : degree) += factor.power;
            if (!is_dim) {
                others.push_back(factor);
            }
        }
        if (power > highest_power) {
            return false;
        }
        by_degree[degree][others].add(power, value);
        return true;
    });
    if (!complete) {
        return std::nullopt;
    }
    for (const auto& [degree, form] : by_degree) {
        const bool survives =
            std::any_of(form.begin(), form.end(), [](const auto& entry) { return !entry.second.cleaned().empty(); });
        if (survives) {
            return root_of(form);
        }
    }
    return std::nullopt;
}

std::optional<std::int64_t> Crossing::whole_size() const {
    constexpr double largest = 9e18;
    if (!root || !(*root < largest)) return std::nullopt;
    const double nearest = std::round(*root);
    if (std::abs(*root - nearest) <= 1e-9 * nearest) return static_cast<std::int64_t>(nearest);
    return static_cast<std::int64_t>(above ? std::ceil(*root) : std::floor(*root));
}

}  // namespace roofline::core
