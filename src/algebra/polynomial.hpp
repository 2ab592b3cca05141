// Polynomials over named dimensions with exact rational coefficients: the form of every count of work until sizes are
// bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algebra/rational.hpp"

namespace roofline::core {

/// The number of whole pieces of a dimension: ceil(dim / divisor). A divisor of 1 is the size itself. Tiles, the
/// padding of matrix units and splits over chips have this form.
struct Symbol {
    std::string dim;
    std::int64_t divisor = 1;

    auto operator<=>(const Symbol&) const = default;
    bool operator==(const Symbol&) const = default;
};

/// Returns the name of a part of a dimension, "B/4"; with a divisor of 1 that of the dimension.
[[nodiscard]] std::string shard_name(const Symbol& symbol);

struct Factor {
    Symbol symbol;
    int power = 1;

    auto operator<=>(const Factor&) const = default;
    bool operator==(const Factor&) const = default;
};

/// A product of powers, sorted by symbol; the empty product is the number 1.
using Monomial = std::vector<Factor>;

/// Sizes of dimensions by name.
using Sizes = std::map<std::string, std::int64_t, std::less<>>;

/// A polynomial. It keeps its terms in the order in which they were first added, so that a sum prints as it was built:
/// the traffic of A, then W's, then C's. Equality ignores the order.
class Polynomial {
public:
    using Terms = std::vector<std::pair<Monomial, Rational>>;

    Polynomial() = default;
    Polynomial(Rational constant);                                         // NOLINT: a number is a polynomial
    Polynomial(std::int64_t constant) : Polynomial(Rational(constant)) {}  // NOLINT
    [[nodiscard]] static Polynomial dim(std::string name);
    [[nodiscard]] static Polynomial symbol(Symbol symbol);

    /// Returns the polynomial with dim/k for every ceil(dim/k) of which `divides` says that it divides evenly.
    template <class Divides>
    [[nodiscard]] Polynomial without_ceilings(Divides divides) const {
        Polynomial result;
        for (const auto& [monomial, coefficient] : terms()) {
            Polynomial term{coefficient};
            for (const Factor& factor : monomial) {
                const bool even = factor.symbol.divisor > 1 && divides(factor.symbol);
                Polynomial one = even ? dim(factor.symbol.dim) * Polynomial(Rational(1, factor.symbol.divisor))
                                      : symbol(factor.symbol);
                for (std::int32_t i = 0; i < factor.power; ++i) term *= one;
            }
            result += term;
        }
        return result;
    }

    [[nodiscard]] static Polynomial term(Monomial monomial, Rational coefficient);
    /// Returns the product of symbols and a number. Multiplying polynomials one by one would take most of the time of
    /// counting work.
    [[nodiscard]] static Polynomial product(std::vector<Symbol> symbols, const Rational& number = 1);

    Polynomial operator+(const Polynomial& other) const;
    Polynomial operator-(const Polynomial& other) const;
    Polynomial operator*(const Polynomial& other) const;
    friend Polynomial operator+(std::int64_t a, const Polynomial& b) { return Polynomial(a) + b; }
    friend Polynomial operator-(std::int64_t a, const Polynomial& b) { return Polynomial(a) - b; }
    friend Polynomial operator*(std::int64_t a, const Polynomial& b) { return Polynomial(a) * b; }
    Polynomial& operator+=(const Polynomial& other);
    Polynomial& operator-=(const Polynomial& other);
    Polynomial& operator*=(const Polynomial& other) { return *this = *this * other; }
    bool operator==(const Polynomial& other) const;

    [[nodiscard]] const Terms& terms() const& { return terms_; }  ///< no monomial twice, no zero coefficients
    [[nodiscard]] Terms terms() && { return std::move(terms_); }  ///< makes `for (... : f().terms())` safe
    [[nodiscard]] Rational coefficient(const Monomial& monomial) const;
    [[nodiscard]] bool is_zero() const { return terms_.empty(); }
    [[nodiscard]] bool overflowed() const;
    [[nodiscard]] std::set<std::string> dims() const;

    /// Returns the exact value, ceil(size / divisor) for every symbol; empty when a dimension has no size. It may be
    /// `overflowed`.
    [[nodiscard]] std::optional<Rational> evaluate(const Sizes& sizes) const;

    /// Returns the polynomial with these dimensions replaced by their numbers.
    [[nodiscard]] Polynomial bind(const Sizes& sizes) const;

    /// Returns the polynomial with x/k for every ceil(x/k).
    [[nodiscard]] Polynomial smooth() const;

    /// Returns "2*B*D + D*F + 2*B*F": dimensions inside a term in the order given (others follow by name), powers as
    /// B^2, tiles as ceil(B/128), fractions as B*D/2; terms in the order in which they were added, the constant last.
    [[nodiscard]] std::string to_text(const std::vector<std::string>& order = {}) const;

    /// Returns the polynomial as people write it by hand: "2BD + DF + 2BF", with stars only in terms that contain a
    /// name longer than one letter.
    [[nodiscard]] std::string to_handwriting(const std::vector<std::string>& order = {}) const;

private:
    [[nodiscard]] std::optional<std::size_t> find(const Monomial& monomial) const;
    /// Inserts a zero if it is new: call drop_zeros() when everything is added.
    [[nodiscard]] Rational& slot(Monomial&& monomial);
    [[nodiscard]] Rational& slot(const Monomial& monomial);
    [[nodiscard]] Rational& append(Monomial monomial);
    void index(std::size_t place);
    void add_scaled(const Polynomial& other, const Rational& factor);
    void build_index();
    void drop_zeros();

    Terms terms_;
    /// A hash table with linear probing: 1 + the index of a term, or 0; empty while terms are few.
    std::vector<std::uint32_t> index_;
};

/// A quotient of polynomials, such as an arithmetic intensity. make_ratio cancels common monomials and numbers and
/// makes the coefficients whole.
struct Ratio {
    Polynomial numerator;
    Polynomial denominator;

    bool operator==(const Ratio&) const = default;
    [[nodiscard]] std::string to_text(const std::vector<std::string>& order = {}) const;  ///< "2*B*D*F / (2*B*D + D*F)"
    [[nodiscard]] std::string to_handwriting(
        const std::vector<std::string>& order = {}) const;  ///< "2BDF / (2BD + DF)"
};
[[nodiscard]] Ratio make_ratio(Polynomial numerator, Polynomial denominator);

/// Returns the limit of the ratio as every dimension but `kept` grows together without bound; it may still contain
/// `kept` ("2B"). Empty when it does not converge, vanishes, or depends on how the other dimensions grow relative to
/// each other.
[[nodiscard]] std::optional<Ratio> limit_of(const Ratio& ratio, const std::string& kept);

}  // namespace roofline::core
