#include "algebra/polynomial.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

namespace roofline::core {

namespace {

/// With fewer terms than this a search from front to back is faster than hashing.
constexpr std::size_t few_terms = 16;

std::size_t hash_of(const Monomial& monomial) {
    std::size_t hash = monomial.size();
    const auto mix = [&hash](std::size_t value) { hash ^= value + 0x9E3779B9U + (hash << 6U) + (hash >> 2U); };
    for (const Factor& factor : monomial) {
        mix(std::hash<std::string_view>{}(factor.symbol.dim));
        mix(static_cast<std::size_t>(factor.symbol.divisor));
        mix(static_cast<std::size_t>(factor.power));
    }
    return hash;
}

Monomial multiply(const Monomial& a, const Monomial& b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    Monomial product;
    product.reserve(a.size() + b.size());
    auto left = a.begin();
    auto right = b.begin();
    while (left != a.end() || right != b.end()) {
        if (right == b.end() || (left != a.end() && left->symbol < right->symbol)) {
            product.push_back(*left++);
        } else if (left == a.end() || right->symbol < left->symbol) {
            product.push_back(*right++);
        } else {
            product.push_back({left->symbol, left->power + right->power});
            ++left;
            ++right;
        }
    }
    return product;
}

Rational raise(Rational base, int power) {
    if (power == 1) return base;
    Rational result(1);
    for (int rest = power; rest > 0; rest /= 2) {
        if (rest % 2 == 1) {
            result *= base;
        }
        if (rest > 1) {
            base *= base;
        }
    }
    return result;
}

Rational pieces(std::int64_t size, std::int64_t divisor) {
    return divisor == 1 ? Rational(size) : Rational(size, divisor).ceil();
}

}  // namespace

Polynomial::Polynomial(Rational constant) : Polynomial(term({}, constant)) {}

Polynomial Polynomial::dim(std::string name) { return symbol(Symbol{std::move(name), 1}); }

Polynomial Polynomial::symbol(Symbol symbol) { return term({Factor{std::move(symbol), 1}}, Rational(1)); }

Polynomial Polynomial::term(Monomial monomial, Rational coefficient) {
    Polynomial result;
    if (!coefficient.is_zero()) {
        result.terms_.emplace_back(std::move(monomial), coefficient);
    }
    return result;
}

Polynomial Polynomial::product(std::vector<Symbol> symbols, const Rational& number) {
    std::sort(symbols.begin(), symbols.end());
    Monomial monomial;
    monomial.reserve(symbols.size());
    for (Symbol& symbol : symbols) {
        if (!monomial.empty() && monomial.back().symbol == symbol) {
            ++monomial.back().power;
        } else {
            monomial.push_back({std::move(symbol), 1});
        }
    }
    return term(std::move(monomial), number);
}

std::optional<std::size_t> Polynomial::find(const Monomial& monomial) const {
    if (index_.empty()) {
        const auto same = [&monomial](const auto& term) { return term.first == monomial; };
        const auto found = std::find_if(terms_.begin(), terms_.end(), same);
        if (found == terms_.end()) {
            return std::nullopt;
        }
        return static_cast<std::size_t>(found - terms_.begin());
    }
    const std::size_t last = index_.size() - 1;
    for (std::size_t at = hash_of(monomial) & last; index_[at] != 0; at = (at + 1) & last) {
        const std::size_t place = index_[at] - 1;
        if (terms_[place].first == monomial) return place;
    }
    return std::nullopt;
}

Rational& Polynomial::append(Monomial monomial) {
    terms_.emplace_back(std::move(monomial), Rational(0));
    if (2 * terms_.size() > index_.size()) {
        build_index();
    } else {
        index(terms_.size() - 1);
    }
    return terms_.back().second;
}

Rational& Polynomial::slot(Monomial&& monomial) {
    const auto place = find(monomial);
    return place ? terms_[*place].second : append(std::move(monomial));
}

Rational& Polynomial::slot(const Monomial& monomial) {
    const auto place = find(monomial);
    return place ? terms_[*place].second : append(monomial);
}

void Polynomial::index(std::size_t place) {
    const std::size_t last = index_.size() - 1;
    std::size_t at = hash_of(terms_[place].first) & last;
    while (index_[at] != 0) at = (at + 1) & last;
    index_[at] = static_cast<std::uint32_t>(place + 1);
}

void Polynomial::build_index() {
    index_.clear();
    if (terms_.size() <= few_terms) return;
    index_.resize(4 * std::bit_ceil(terms_.size()));
    for (std::size_t i = 0; i < terms_.size(); ++i) index(i);
}

void Polynomial::drop_zeros() {
    if (std::erase_if(terms_, [](const auto& term) { return term.second.is_zero(); }) != 0) {
        build_index();  // the indices have moved
    }
}

void Polynomial::add_scaled(const Polynomial& other, const Rational& factor) {
    bool cancelled = false;
    const std::size_t count = other.terms_.size();
    // `other` may be this polynomial itself: then nothing moves, because all terms are found.
    for (std::size_t i = 0; i < count; ++i) {
        const Rational change = other.terms_[i].second * factor;
        Rational& coefficient = slot(other.terms_[i].first);
        coefficient += change;
        cancelled = cancelled || coefficient.is_zero();
    }
    if (cancelled) {
        drop_zeros();
    }
}

Polynomial& Polynomial::operator+=(const Polynomial& other) {
    add_scaled(other, Rational(1));
    return *this;
}

Polynomial& Polynomial::operator-=(const Polynomial& other) {
    add_scaled(other, Rational(-1));
    return *this;
}

Polynomial Polynomial::operator+(const Polynomial& other) const {
    Polynomial sum = *this;
    sum += other;
    return sum;
}

Polynomial Polynomial::operator-(const Polynomial& other) const {
    Polynomial difference = *this;
    difference -= other;
    return difference;
}

Polynomial Polynomial::operator*(const Polynomial& other) const {
    Polynomial product;
    // A product with a single term has as many terms as the other factor; none is added to another.
    const bool distinct = terms_.size() == 1 || other.terms_.size() == 1;
    product.terms_.reserve(distinct ? std::max(terms_.size(), other.terms_.size()) : 0);
    for (const auto& [monomial, coefficient] : terms_) {
        for (const auto& [other_monomial, other_coefficient] : other.terms_) {
            Monomial both = multiply(monomial, other_monomial);
            Rational& sum = distinct ? product.append(std::move(both)) : product.slot(std::move(both));
            sum += coefficient * other_coefficient;
        }
    }
    if (!distinct) product.drop_zeros();
    return product;
}

bool Polynomial::operator==(const Polynomial& other) const {
    if (terms_.size() != other.terms_.size()) {
        return false;
    }
    return std::all_of(terms_.begin(), terms_.end(), [&other](const auto& term) {
        const auto place = other.find(term.first);
        return place && other.terms_[*place].second == term.second;
    });
}

Rational Polynomial::coefficient(const Monomial& monomial) const {
    const auto place = find(monomial);
    return place ? terms_[*place].second : Rational(0);
}

bool Polynomial::overflowed() const {
    return std::any_of(terms_.begin(), terms_.end(), [](const auto& term) { return term.second.overflowed(); });
}

std::set<std::string> Polynomial::dims() const {
    std::set<std::string> names;
    for (const auto& [monomial, coefficient] : terms_) {
        for (const Factor& factor : monomial) {
            names.insert(factor.symbol.dim);
        }
    }
    return names;
}

std::optional<Rational> Polynomial::evaluate(const Sizes& sizes) const {
    Rational sum;
    for (const auto& [monomial, coefficient] : terms_) {
        Rational product = coefficient;
        for (const auto& [symbol, power] : monomial) {
            const auto size = sizes.find(symbol.dim);
            if (size == sizes.end()) {
                return std::nullopt;
            }
            product *= raise(pieces(size->second, symbol.divisor), power);
        }
        sum += product;
    }
    return sum;
}

std::string shard_name(const Symbol& symbol) {
    return symbol.divisor > 1 ? symbol.dim + "/" + std::to_string(symbol.divisor) : symbol.dim;
}

Polynomial Polynomial::bind(const Sizes& sizes) const {
    if (sizes.empty()) return *this;
    Polynomial bound;
    for (const auto& [monomial, coefficient] : terms_) {
        Rational product = coefficient;
        Monomial rest;
        for (const Factor& factor : monomial) {
            const auto size = sizes.find(factor.symbol.dim);
            if (size == sizes.end()) {
                rest.push_back(factor);
            } else {
                product *= raise(pieces(size->second, factor.symbol.divisor), factor.power);
            }
        }
        bound.slot(std::move(rest)) += product;
    }
    bound.drop_zeros();
    return bound;
}

Polynomial Polynomial::smooth() const {
    Polynomial smoothed;
    for (const auto& [monomial, coefficient] : terms_) {
        Rational scaled = coefficient;
        Monomial product;
        for (const auto& [symbol, power] : monomial) {
            scaled *= raise(Rational(1, symbol.divisor), power);
            product = multiply(product, {Factor{Symbol{symbol.dim, 1}, power}});
        }
        smoothed.slot(std::move(product)) += scaled;
    }
    smoothed.drop_zeros();
    return smoothed;
}

}  // namespace roofline::core
