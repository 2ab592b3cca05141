#include "app/number_option.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"

using namespace roofline::core;

TEST_CASE("a fraction may be a percentage") {
    REQUIRE(fraction_in("0.25"));
    CHECK(fraction_in("0.25")->value == 0.25);
    CHECK_FALSE(fraction_in("0.25")->percent);
    REQUIRE(fraction_in("30%"));
    CHECK(fraction_in("30%")->value == approx(0.3));
    CHECK(fraction_in("30%")->percent);
    for (const char* const word : {"", "%", "x", "1e999", "0.5 ", "50%%", "nan"}) CHECK_FALSE(fraction_in(word));
}

TEST_CASE("a whole number of an option has its limits, and errors name the option") {
    CHECK(whole_option("--draft", "1", 8).value() == 1);
    CHECK(whole_option("--draft", "8", 8).value() == 8);
    CHECK(whole_option("--draft", "9", 8).error().message == "--draft is 9: it must be 1 to 8");
    for (const char* const word : {"", "0", "-1", "1.5", "many"}) {
        const auto refused = whole_option("--draft", word, 8);
        REQUIRE_FALSE(refused);
        CHECK_MESSAGE(refused.error().message.starts_with("--draft"), word);
    }
}

TEST_CASE("a wrong value of an option is quoted, a long one not in full") {
    const Error error = wrong_option("--rate", std::string(100, 'x'), "this is not a number", "give one").value();
    CHECK(error.code == "bad_request");
    CHECK(error.message == "--rate `" + std::string(40, 'x') + "`: this is not a number");
    CHECK(error.hint == "give one");
}
