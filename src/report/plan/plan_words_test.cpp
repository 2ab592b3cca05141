#include "report/plan/plan_words.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

TEST_CASE("the limit that would let a plan pass is rounded up to three digits") {
    constexpr double day = 86400;
    CHECK(passing_option({PlanLimit::days, 64.301 * day, 20 * day}) == "--days 64.4");
    CHECK(passing_option({PlanLimit::days, 64 * day, 20 * day}) == "--days 64");
    CHECK(passing_option({PlanLimit::usd, 104'100, 100'000}) == "--usd 105000");
    CHECK(passing_option({PlanLimit::usd, 6.2345e9, 5e9}) == "--usd 6240000000");
    CHECK(exceeded_text({PlanLimit::days, 64.31 * day, 20 * day}) == "64.3 of 20 days");
    CHECK(exceeded_text({PlanLimit::usd, 104'963, 100'000}) == "104,963 of 100,000 USD");
    CHECK(exceeded_text({PlanLimit::power, 11'200, 6000}) == "11.2 kW of 6 kW");
    CHECK(exceeded_text({PlanLimit::chips, 2048, 1024}) == "2,048 of 1,024 chips");
}

TEST_CASE("objectives are named with what they are of") {
    CHECK(objective_text(PlanObjective::time, PlanBasis::run) == "time of the run");
    CHECK(objective_text(PlanObjective::cost, PlanBasis::tokens) == "cost per million tokens");
    CHECK(objective_text(PlanObjective::memory, PlanBasis::step) == "memory per chip");
    CHECK(value_text(PlanObjective::cost, PlanBasis::run, 1290.4) == "1,290 USD");
    CHECK(value_text(PlanObjective::time, PlanBasis::step, 1.45) == "1.45 s");
}
