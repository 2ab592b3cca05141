#include "import/expert_load.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace roofline::core;

TEST_CASE("balanced routing cycles through the experts") {
    // 4 tokens choose experts 0 and 4, 1 and 5, 2 and 6, 3 and 7, so each of 8 experts is chosen once
    CHECK(balanced_load({4, 2, 8, 1}) == ExpertLoad{8, 8});
    CHECK(balanced_load({4, 2, 8, 2}) == ExpertLoad{4, 4});
    // 2 tokens choose 0 and 4, 2 and 6
    CHECK(balanced_load({2, 2, 8, 1}) == ExpertLoad{4, 4});
    CHECK(balanced_load({2, 2, 8, 4}) == ExpertLoad{1, 1});
    // 5 tokens: the last token chooses 4 and 0 again
    CHECK(balanced_load({5, 2, 8, 2}) == ExpertLoad{4, 5});
    // the choices of one token are 32 apart, each on another rank
    CHECK(balanced_load({1, 8, 256, 32}) == ExpertLoad{1, 1});
    CHECK(balanced_load({std::int64_t{1} << 30, 8, 256, 32}) == ExpertLoad{8, std::int64_t{1} << 28});
}

TEST_CASE("all choices are assigned, and the busiest rank has at least its share") {
    for (const double alpha : {0.5, 1.0, 1.01, 1.2, 3.0}) {
        for (const std::int64_t tokens : {1, 7, 64, 5000}) {
            CHECK(power_law_load({tokens, 4, 32, 1}, alpha).rows == tokens * 4);
            const ExpertLoad load = power_law_load({tokens, 4, 32, 8}, alpha);
            CHECK(load.rows * 8 >= tokens * 4);
            CHECK(load.rows <= tokens * 4);
            CHECK(load.experts <= 4);
        }
    }
    // with exponent 0 only chance remains: the busiest rank of 64 experts has little more than a quarter
    CHECK(power_law_load({100'000, 8, 256, 4}, 0).rows < 100'000 * 2.3);
    CHECK(power_law_load({100'000, 8, 256, 4}, 1.2).rows > 100'000 * 2.3);
}

TEST_CASE("no token chooses an expert twice") {
    // with as many choices as experts, each expert has all tokens
    CHECK(power_law_load({1000, 2, 2, 2}, 1.2) == ExpertLoad{1, 1000});
    CHECK(power_law_load({1000, 4, 4, 1}, 1.2) == ExpertLoad{4, 4000});
}

TEST_CASE("the remainder of rounding goes to one rank after the other, or to the first experts") {
    // 8 choices among 256 experts: every share is below half a token, at most 2/0.376 times the mean
    CHECK(power_law_load({1, 8, 256, 32}, 1.01) == ExpertLoad{1, 1});
    CHECK(power_law_load({1, 8, 256, 32}, 1.01, false) == ExpertLoad{8, 8});
}

TEST_CASE("an invalid routing gives no load") {
    const Routing wrong[] = {{0, 2, 8, 1},
                             {4, 0, 8, 1},
                             {4, 9, 8, 1},
                             {4, 2, 8, 3},
                             {4, 2, 8, 0},
                             {4, 2, std::int64_t{1} << 40, 1},
                             {std::int64_t{1} << 60, 2, 8, 1}};
    for (const Routing& routing : wrong) {
        CHECK(balanced_load(routing) == ExpertLoad{});
        CHECK(power_law_load(routing, 1) == ExpertLoad{});
    }
    CHECK(power_law_load({4, 2, 8, 1}, -1) == ExpertLoad{});
}

TEST_CASE("tokens that choose at random leave some experts without rows") {
    // 1 - (1 - 2/8)^4 = 0.68 of eight experts
    CHECK(random_load({4, 2, 8, 1}) == ExpertLoad{5, 8});
    CHECK(random_load({1, 2, 8, 1}) == ExpertLoad{2, 2});
    CHECK(random_load({4096, 2, 8, 1}) == ExpertLoad{8, 8192});
    CHECK(random_load({4, 9, 8, 1}) == ExpertLoad{});
}
