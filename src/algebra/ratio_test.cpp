#include <doctest/doctest.h>

#include "algebra/dims_test.hpp"
#include "algebra/polynomial.hpp"

namespace roofline::core {

namespace {

std::string limit_text(const Ratio& ratio, const std::string& kept) {
    const std::optional<Ratio> limit = limit_of(ratio, kept);
    return limit ? limit->to_handwriting(order) : "none";
}

}  // namespace

TEST_CASE("common factors cancel, and nothing else") {
    CHECK(make_ratio(2 * B * D * F, 2 * B * D + D * F + 2 * B * F).to_handwriting(order) == "2BDF / (2BD + DF + 2BF)");
    CHECK(make_ratio(2 * B * D * F, 2 * B * D + 2 * D * F + 2 * B * F).to_handwriting(order) == "BDF / (BD + DF + BF)");
    CHECK(make_ratio(2 * B * D * F, 2 * B * D + B * D * F + 2 * B * F).to_handwriting(order) == "2DF / (2D + DF + 2F)");
    CHECK(make_ratio(6 * B, 4 * D).to_text(order) == "3*B / (2*D)");
    CHECK(make_ratio(2 * B * D, 2 * B).to_text(order) == "D");
}

TEST_CASE("a ratio of multiples is a number") {
    CHECK(make_ratio(4 * B + 4 * D, 2 * D + 2 * B) == Ratio{Polynomial(2), Polynomial(1)});
    CHECK(make_ratio(B * D + B * F, 3 * D + 3 * F).to_handwriting(order) == "B / 3");
    CHECK(make_ratio(Polynomial(), B) == Ratio{Polynomial(), Polynomial(1)});
}

TEST_CASE("coefficients become whole numbers, signs are in the numerator") {
    const Polynomial half = Polynomial(Rational(1, 2)) * B;
    CHECK(make_ratio(half, Polynomial(Rational(9, 16)) * D).to_text(order) == "8*B / (9*D)");
    CHECK(make_ratio(B, 0 - D).to_text(order) == "-B / D");
}

TEST_CASE("ratios print with brackets where they are needed") {
    CHECK(Ratio{B + D, F}.to_handwriting(order) == "(B + D) / F");
    CHECK(Ratio{B, D * F}.to_handwriting(order) == "B / (DF)");
    CHECK(Ratio{B, Polynomial(2)}.to_text(order) == "B / 2");
    CHECK(Ratio{2 * B * D * F, 2 * B * D + D * F}.to_text(order) == "2*B*D*F / (2*B*D + D*F)");
    CHECK(Ratio{B, Polynomial::symbol({"D", 128})}.to_text(order) == "B / ceil(D/128)");
}

TEST_CASE("division by zero and overflow are left as they are") {
    CHECK(make_ratio(B, Polynomial()) == Ratio{B, Polynomial()});
    Polynomial huge(std::int64_t{1} << 62);
    huge *= huge * huge;
    CHECK(make_ratio(huge, B).numerator.overflowed());
}

TEST_CASE("the intensity of int8 weights with bf16 activations tends to 2B") {
    const Ratio intensity = make_ratio(2 * B * D * F, 2 * B * D + D * F + 2 * B * F);
    CHECK(limit_text(intensity, "B") == "2B");
    CHECK(limit_text(intensity, "D") == "D");
    CHECK(limit_text(intensity, "F") == "F");
}

TEST_CASE("a weight per batch element has intensity 2 at most") {
    CHECK(limit_text(make_ratio(2 * B * D * F, B * D + B * D * F + B * F), "B") == "2");
}

TEST_CASE("a dot product has a constant intensity") {
    const Polynomial N = Polynomial::dim("N");
    CHECK(limit_text(make_ratio(2 * N, 4 * N + 2), "M") == "1/2");
    CHECK(limit_text(make_ratio(2 * N, 4 * N + 2), "N") == "N / (2N + 1)");  // nothing else grows
}

TEST_CASE("there is no limit if the ratio grows, vanishes or depends on how the others grow") {
    CHECK(limit_text(Ratio{B * D * F, D}, "B") == "none");
    CHECK(limit_text(Ratio{B * D, D * F}, "B") == "none");
    CHECK(limit_text(Ratio{B * D, D + F}, "B") == "none");
    CHECK(limit_text(Ratio{B * D + F, D + F}, "B") == "none");
    CHECK(limit_text(Ratio{B * D + B * F, D + F + B}, "B") == "B");
    CHECK(limit_text(Ratio{Polynomial(), B}, "B") == "none");
}

TEST_CASE("limits replace tiles by fractions") {
    const Polynomial tiles = Polynomial::symbol({"D", 128});
    CHECK(limit_text(Ratio{B * D * 2, 128 * tiles + 7}, "B") == "2B");
}

}  // namespace roofline::core
