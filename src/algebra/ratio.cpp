// Quotients of polynomials: cancellation and limits.
#include <algorithm>
#include <map>

#include "algebra/polynomial.hpp"

namespace roofline::core {

namespace {

int power_of(const Monomial& monomial, const Symbol& symbol) {
    const auto found = std::find_if(monomial.begin(), monomial.end(),
                                    [&symbol](const Factor& factor) { return factor.symbol == symbol; });
    return found == monomial.end() ? 0 : found->power;
}

/// The greatest monomial that divides both.
Monomial common(const Monomial& a, const Monomial& b) {
    Monomial shared;
    for (const Factor& factor : a) {
        if (const int power = std::min(factor.power, power_of(b, factor.symbol)); power > 0) {
            shared.push_back({factor.symbol, power});
        }
    }
    return shared;
}

/// monomial / divisor; the divisor must divide it.
Monomial divided(const Monomial& monomial, const Monomial& divisor) {
    Monomial quotient;
    for (const Factor& factor : monomial) {
        if (const int power = factor.power - power_of(divisor, factor.symbol); power > 0) {
            quotient.push_back({factor.symbol, power});
        }
    }
    return quotient;
}

/// A polynomial as monomial * rest, where no symbol divides the rest.
struct SplitPolynomial {
    Monomial monomial;
    Polynomial rest;
};

SplitPolynomial split(const Polynomial& polynomial) {
    if (polynomial.is_zero()) {
        return {{}, polynomial};
    }
    Monomial shared = polynomial.terms().front().first;
    for (const auto& [monomial, coefficient] : polynomial.terms()) {
        shared = common(shared, monomial);
    }
    Polynomial rest;
    for (const auto& [monomial, coefficient] : polynomial.terms()) {
        rest += Polynomial::term(divided(monomial, shared), coefficient);
    }
    return {std::move(shared), std::move(rest)};
}

/// The number c with numerator = c * denominator, if there is one; the denominator must not be zero.
std::optional<Rational> proportion(const Polynomial& numerator, const Polynomial& denominator) {
    if (numerator.terms().size() != denominator.terms().size()) {
        return std::nullopt;
    }
    const auto& [monomial, coefficient] = denominator.terms().front();
    const Rational factor = numerator.coefficient(monomial) / coefficient;
    if (factor.is_zero() || factor.overflowed() || numerator != denominator * Polynomial(factor)) {
        return std::nullopt;
    }
    return factor;
}

/// The number to divide both by, so that their coefficients become coprime whole numbers and the denominator's first
/// one is positive.
Rational content(const Polynomial& numerator, const Polynomial& denominator) {
    Rational shared;
    for (const Polynomial* polynomial : {&numerator, &denominator}) {
        for (const auto& [monomial, coefficient] : polynomial->terms()) {
            shared = Rational::common_factor(shared, coefficient);
        }
    }
    const bool negative = !denominator.is_zero() && denominator.terms().front().second.is_negative();
    return negative ? Rational(0) - shared : shared;
}

/// Polynomials in one dimension, by the monomial of the other dimensions that multiplies them.
using ByOthers = std::map<Monomial, Polynomial>;

struct LeadingForm {
    int degree = -1;
    ByOthers terms;
};

/// The terms of the highest total degree in the dimensions other than `kept`.
LeadingForm leading_form(const Polynomial& polynomial, const std::string& kept) {
    LeadingForm form;
    for (const auto& [monomial, coefficient] : polynomial.terms()) {
        Monomial ours;
        Monomial others;
        int degree = 0;
        for (const Factor& factor : monomial) {
            const bool is_kept = factor.symbol.dim == kept;
            (is_kept ? ours : others).push_back(factor);
            degree += is_kept ? 0 : factor.power;
        }
        if (degree > form.degree) {
            form = {degree, {}};
        }
        if (degree == form.degree) {
            form.terms[others] += Polynomial::term(ours, coefficient);
        }
    }
    return form;
}

}  // namespace

Ratio make_ratio(Polynomial numerator, Polynomial denominator) {
    if (denominator.is_zero() || numerator.overflowed() || denominator.overflowed()) {
        return {std::move(numerator), std::move(denominator)};
    }
    if (numerator.is_zero()) {
        return {Polynomial(), Polynomial(1)};
    }
    SplitPolynomial above = split(numerator);
    SplitPolynomial below = split(denominator);
    if (const auto factor = proportion(above.rest, below.rest)) {
        above.rest = Polynomial(*factor);
        below.rest = Polynomial(1);
    }
    const Rational number = content(above.rest, below.rest);
    if (number.overflowed()) {
        return {std::move(numerator), std::move(denominator)};
    }
    const Monomial shared = common(above.monomial, below.monomial);
    const Rational inverse = Rational(1) / number;
    return {Polynomial::term(divided(above.monomial, shared), inverse) * above.rest,
            Polynomial::term(divided(below.monomial, shared), inverse) * below.rest};
}

std::optional<Ratio> limit_of(const Ratio& ratio, const std::string& kept) {
    const LeadingForm above = leading_form(ratio.numerator.smooth(), kept);
    const LeadingForm below = leading_form(ratio.denominator.smooth(), kept);
    if (above.degree < 0 || above.degree != below.degree || above.terms.size() != below.terms.size()) {
        return std::nullopt;
    }
    // The quotient is independent of the other dimensions when the coefficients of all their monomials have the same
    // quotient.
    const Polynomial& numerator = above.terms.begin()->second;
    const Polynomial& denominator = below.terms.begin()->second;
    for (auto up = above.terms.begin(), down = below.terms.begin(); up != above.terms.end(); ++up, ++down) {
        if (up->first != down->first || up->second * denominator != down->second * numerator) {
            return std::nullopt;
        }
    }
    return make_ratio(numerator, denominator);
}

}  // namespace roofline::core
