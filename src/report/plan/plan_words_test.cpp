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

TEST_CASE("plans as fast as the best one are equal to it") {
    CHECK(beside_text(1) == "equal");
    CHECK(beside_text(1.0004) == "equal");
    CHECK(beside_text(0.9996) == "equal");
    CHECK(beside_text(1.0006) == "+0.1 %");
    CHECK(beside_text(1.25) == "+25.0 %");
    CHECK(beside_text(0.9) == "-10.0 %");
}

TEST_CASE("a long command is continued on further lines, at the options") {
    const std::vector<std::string> words{"roofline train m", "--on h100:8", "--seq 4096"};
    CHECK(shell_lines(words, 2, 100) == "  roofline train m --on h100:8 --seq 4096\n");
    CHECK(shell_lines(words, 2, 32) == "  roofline train m --on h100:8 \\\n      --seq 4096\n");
    CHECK(shell_lines(words, 2, 31) == "  roofline train m \\\n      --on h100:8 --seq 4096\n");
}

TEST_CASE("objectives are named with what they are of") {
    CHECK(objective_text(PlanObjective::time, PlanBasis::run) == "time of the run");
    CHECK(objective_text(PlanObjective::cost, PlanBasis::tokens) == "cost per million tokens");
    CHECK(objective_text(PlanObjective::memory, PlanBasis::step) == "memory per chip");
    CHECK(value_text(PlanObjective::cost, PlanBasis::run, 1290.4) == "1,290 USD");
    CHECK(value_text(PlanObjective::time, PlanBasis::step, 1.45) == "1.45 s");
}
