#include "algebra/polynomial.hpp"
#include "algebra/dims_test.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

namespace roofline::core {

namespace {}  // namespace

TEST_CASE("the traffic of a matmul prints as it is written by hand") {
    const Polynomial bytes = 2 * B * D + D * F + 2 * B * F;
    CHECK(bytes.to_text(order) == "2*B*D + D*F + 2*B*F");
    CHECK(bytes.to_handwriting(order) == "2BD + DF + 2BF");
    CHECK((2 * B * D * F).to_handwriting(order) == "2BDF");
}

TEST_CASE("dimensions are in the order given, and others follow by name") {
    const Polynomial product = Polynomial::dim("A") * D * F * B;
    CHECK(product.to_text({"F", "D"}) == "F*D*A*B");
    CHECK(product.to_text() == "A*B*D*F");
}

TEST_CASE("like terms merge into the earlier one") { CHECK((B * D + F + D * B).to_text() == "2*B*D + F"); }

TEST_CASE("a product of symbols has one factor for each, with a power where a symbol is repeated") {
    const Symbol shard{"B", 2};
    const Polynomial product = Polynomial::product({{"D", 1}, shard, {"D", 1}, {"B", 1}}, Rational(3));
    CHECK(product == 3 * B * Polynomial::symbol(shard) * D * D);
    CHECK(Polynomial::product({}) == Polynomial(1));
}

TEST_CASE("powers, fractions, constants, signs") {
    CHECK((D * B * D).to_text() == "B*D^2");
    CHECK((D * D).to_handwriting() == "D^2");
    CHECK((Polynomial(Rational(1, 2)) * B * D).to_text() == "B*D/2");
    CHECK((Polynomial(Rational(3, 2)) * B * D).to_handwriting() == "3BD/2");
    CHECK((Polynomial(4) + B).to_text() == "B + 4");
    CHECK((B - 3 * D - 4).to_text() == "B - 3*D - 4");
    CHECK((0 - B).to_handwriting() == "-B");
    CHECK(Polynomial(Rational(1, 2)).to_text() == "1/2");
    CHECK(Polynomial(1).to_text() == "1");
    CHECK(Polynomial(0).to_text() == "0");
}

TEST_CASE("names longer than one letter need stars, only in their term") {
    CHECK((2 * Polynomial::dim("Batch") * D + 3 * B * D).to_handwriting() == "2*Batch*D + 3BD");
    CHECK((2 * Polynomial::symbol({"B", 128}) * D).to_handwriting() == "2*ceil(B/128)*D");
    CHECK((2 * Polynomial::symbol({"B", 128}) * Polynomial::symbol({"B", 128})).to_text() == "2*ceil(B/128)^2");
}

TEST_CASE("equality ignores the order of terms") {
    CHECK(B * D + F == F + D * B);
    CHECK(B + D != B + F);
    CHECK(B + D != B);
    CHECK(B + D != B + 2 * D);
    CHECK(Polynomial::symbol({"B", 8}) != B);
    CHECK(Polynomial() == Polynomial(0));
}

TEST_CASE("terms that cancel are removed") {
    CHECK((B - B).is_zero());
    CHECK((B + D - B).terms().size() == 1);
    CHECK((B * Polynomial(0)).is_zero());
    CHECK((B + D) * (B - D) == B * B - D * D);
    Polynomial self = B + D;
    self += self;
    CHECK(self == 2 * B + 2 * D);
    self -= self;
    CHECK(self.is_zero());
}

TEST_CASE("values are exact and whole pieces are counted") {
    const Sizes sizes{{"B", 64}, {"D", 8192}, {"F", 8192}};
    CHECK((2 * B * D * F).evaluate(sizes) == Rational(8589934592));
    CHECK((2 * B * D + D * F + 2 * B * F).evaluate(sizes) == Rational(69206016));  // 2 * 2^20 + 2^26
    CHECK(Polynomial::symbol({"B", 128}).evaluate(sizes) == Rational(1));
    CHECK(Polynomial::symbol({"D", 100}).evaluate(sizes) == Rational(82));
    CHECK((Polynomial::symbol({"D", 100}) * Polynomial::symbol({"D", 100})).evaluate(sizes) == Rational(6724));
    CHECK((Polynomial(Rational(9, 16)) * B).evaluate(sizes) == Rational(36));
    CHECK(Polynomial().evaluate({}) == Rational(0));
    CHECK_FALSE((B * Polynomial::dim("Q")).evaluate(sizes));
}

TEST_CASE("huge sizes overflow instead of wrapping") {
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const Sizes sizes{{"B", most}};
    CHECK_FALSE((B * B).evaluate(sizes)->overflowed());
    CHECK((B * B * B).evaluate(sizes)->overflowed());
    CHECK((Polynomial(most) * Polynomial(most) * Polynomial(most)).overflowed());
    Polynomial power = B;
    for (int i = 0; i < 20; ++i) {
        power *= power;
    }
    CHECK(power.evaluate({{"B", 1}}) == Rational(1));
    CHECK(power.evaluate({{"B", 2}})->overflowed());
}

TEST_CASE("binding some sizes leaves a polynomial in the others") {
    const Polynomial tiles = Polynomial::symbol({"B", 128});
    CHECK((2 * B * D * F + tiles * F).bind({{"B", 200}, {"D", 3}}) == 1202 * F);
    CHECK((B - D).bind({{"B", 5}, {"D", 5}}).is_zero());
    CHECK((B * D).bind({}) == B * D);
}

TEST_CASE("smooth replaces tiles by fractions and merges equal terms") {
    const Polynomial tiles = Polynomial::symbol({"B", 128});
    CHECK((128 * tiles * D + B * D).smooth() == 2 * B * D);
    CHECK((tiles * Polynomial::symbol({"B", 2})).smooth() == Polynomial(Rational(1, 256)) * B * B);
}

TEST_CASE("the dimensions of a polynomial") {
    CHECK((B * D + Polynomial::symbol({"F", 8})).dims() == std::set<std::string>{"B", "D", "F"});
    CHECK(Polynomial(3).dims().empty());
}

TEST_CASE("coefficients by monomial") {
    const Polynomial p = 3 * B * D + 4;
    CHECK(p.coefficient({{{"B", 1}, 1}, {{"D", 1}, 1}}) == Rational(3));
    CHECK(p.coefficient({}) == Rational(4));
    CHECK(p.coefficient({{{"B", 1}, 1}}) == Rational(0));
}

TEST_CASE("many terms keep their order, merge and cancel as few do") {
    const int count = 20000;  // with a search from the front for every addition this would take minutes
    Polynomial total;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < count; ++i) {
            total += Polynomial::dim("d" + std::to_string(i));
        }
    }
    REQUIRE(total.terms().size() == count);
    CHECK(total.terms()[0].first[0].symbol.dim == "d0");
    CHECK(total.terms()[count - 1].first[0].symbol.dim == "d19999");
    CHECK(std::all_of(total.terms().begin(), total.terms().end(),
                      [](const auto& term) { return term.second == Rational(3); }));
    Polynomial reversed;
    for (int i = count - 1; i >= 0; --i) {
        reversed += 3 * Polynomial::dim("d" + std::to_string(i));
    }
    CHECK(total == reversed);
    total -= 3 * Polynomial::dim("d7");
    CHECK(total.terms().size() == count - 1);
    CHECK(total != reversed);
    total += 3 * Polynomial::dim("d7");
    CHECK(total == reversed);
    CHECK((total - reversed).is_zero());
}

}  // namespace roofline::core
