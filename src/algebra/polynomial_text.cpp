// Printing of polynomials and ratios.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "algebra/polynomial.hpp"

namespace roofline::core {

namespace {

enum class Style { starred, handwriting };

using Order = std::vector<std::string>;

std::string factor_text(const Factor& factor) {
    const Symbol& symbol = factor.symbol;
    std::string text =
        symbol.divisor == 1 ? symbol.dim : "ceil(" + symbol.dim + "/" + std::to_string(symbol.divisor) + ")";
    if (factor.power != 1) {
        text += "^" + std::to_string(factor.power);
    }
    return text;
}

/// The ranks of dimensions in the order that a caller asks for; the others follow by name.
class Ranks {
public:
    explicit Ranks(const Order& order) {
        for (const std::string& dim : order) {
            ranks_.emplace(dim, ranks_.size());
        }
    }

    [[nodiscard]] Monomial ordered(Monomial monomial) const {
        std::sort(monomial.begin(), monomial.end(), [this](const Factor& a, const Factor& b) {
            const std::size_t left = rank(a);
            const std::size_t right = rank(b);
            return left != right ? left < right : a.symbol < b.symbol;
        });
        return monomial;
    }

private:
    [[nodiscard]] std::size_t rank(const Factor& factor) const {
        const auto found = ranks_.find(factor.symbol.dim);
        return found == ranks_.end() ? ranks_.size() : found->second;
    }

    std::unordered_map<std::string_view, std::size_t> ranks_;
};

bool is_letter(const Factor& factor) { return factor.symbol.divisor == 1 && factor.symbol.dim.size() == 1; }

/// The absolute value of a term: "2*B*D", "3*B/2", "1/2", "7".
std::string term_text(const Monomial& monomial, const Rational& coefficient, const Ranks& ranks, Style style) {
    if (coefficient.overflowed()) {
        return "(overflow)";
    }
    const Rational size = coefficient.is_negative() ? Rational(0) - coefficient : coefficient;
    std::string fraction = size.to_text();
    std::string divisor;
    if (const std::size_t slash = fraction.find('/'); slash != std::string::npos) {
        divisor = fraction.substr(slash);
        fraction.resize(slash);
    }
    const bool letters = std::all_of(monomial.begin(), monomial.end(), is_letter);
    const std::string_view star = style == Style::handwriting && letters ? "" : "*";
    std::string text = fraction == "1" && !monomial.empty() ? "" : fraction;
    for (const Factor& factor : ranks.ordered(monomial)) {
        text += (text.empty() ? std::string_view{} : star);
        text += factor_text(factor);
    }
    return text + divisor;
}

std::string sum_text(const Polynomial& polynomial, const Order& order, Style style) {
    const Ranks ranks(order);
    std::string text;
    const auto append = [&](const Monomial& monomial, const Rational& coefficient) {
        const bool negative = coefficient.is_negative();
        text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
        text += term_text(monomial, coefficient, ranks, style);
    };
    for (const auto& [monomial, coefficient] : polynomial.terms()) {
        if (!monomial.empty()) {
            append(monomial, coefficient);
        }
    }
    if (const Rational constant = polynomial.coefficient({}); !constant.is_zero()) {
        append({}, constant);
    }
    return text.empty() ? "0" : text;
}

std::string ratio_text(const Ratio& ratio, const Order& order, Style style) {
    const Polynomial::Terms& below = ratio.denominator.terms();
    const bool number = below.size() == 1 && below[0].first.empty();
    if (number && ratio.numerator.dims().empty()) {
        return (ratio.numerator.coefficient({}) / below[0].second).to_text();  // "1/2", not "1 / 2"
    }
    std::string top = sum_text(ratio.numerator, order, style);
    if (ratio.denominator == Polynomial(1)) {
        return top;
    }
    if (ratio.numerator.terms().size() > 1) {
        top = "(" + top + ")";
    }
    std::string bottom = sum_text(ratio.denominator, order, style);
    // A single number or name needs no brackets.
    const bool symbol = below.size() == 1 && below[0].first.size() == 1 && below[0].second == Rational(1);
    const bool bare = below.empty() || number || symbol;
    if (!bare) {
        bottom = "(" + bottom + ")";
    }
    return top + " / " + bottom;
}

}  // namespace

std::string Polynomial::to_text(const Order& order) const { return sum_text(*this, order, Style::starred); }

std::string Polynomial::to_handwriting(const Order& order) const { return sum_text(*this, order, Style::handwriting); }

std::string Ratio::to_text(const Order& order) const { return ratio_text(*this, order, Style::starred); }

std::string Ratio::to_handwriting(const Order& order) const { return ratio_text(*this, order, Style::handwriting); }

}  // namespace roofline::core
