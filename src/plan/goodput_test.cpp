#include "plan/goodput.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "base/approx_test.hpp"

namespace roofline::core {

namespace {

// A system of 100 chips with an interruption every `between_s`, whose checkpoints take `checkpoint_s`.
Goodput goodput_with(double between_s, double checkpoint_s, double restart_s, double ideal_s, bool blocking = true) {
    const Recovery recovery{1 / (100 * between_s), 1e12, restart_s, blocking};
    const auto goodput = goodput_of(recovery, 1e12 * checkpoint_s, ideal_s, 100);
    REQUIRE_MESSAGE(goodput, goodput.error().message);
    return *goodput;
}

constexpr double minute = 60;
constexpr double hour = 3600;
constexpr double day = 86400;

}  // namespace

// Daly 2006, figures 3 to 5: checkpoints of 5 minutes, restarts of 10.
TEST_CASE("the best interval is the one of Daly's figures") {
    CHECK(best_interval(5 * minute, 24 * hour) / minute == approx(117).epsilon(0.005));
    CHECK(best_interval(5 * minute, 6 * hour) / minute == approx(57).epsilon(0.01));
    CHECK(best_interval(5 * minute, 15 * minute) / minute == approx(9.1).epsilon(0.01));
}

TEST_CASE("the best interval is Young's for short checkpoints, and at most the time between interruptions") {
    for (const double delta : {1e-6, 1e-9, 1e-14, 1e-200}) {
        CHECK(best_interval(delta * day, day) == approx(std::sqrt(2 * delta) * day).epsilon(0.001));
    }
    CHECK(best_interval(100 * day, day) == approx(day));
    // The condition for the minimum, (1 - x) e^x = e^-delta.
    for (const double delta : {1e-3, 0.1, 1.0, 3.0}) {
        const double x = best_interval(delta, 1);
        CHECK((1 - x) * std::exp(x) == approx(std::exp(-delta)).epsilon(1e-9));
    }
}

// A simulation of 500 runs, failure by failure, each of 5000 intervals of 57 minutes, gave 0.8192 with a standard error
// of 0.00015 for Daly's second example; writing 0.0719, restarts 0.0274, and interruptions every 6.00 hours.
TEST_CASE("goodput with blocking checkpoints is that of a simulation") {
    const Goodput goodput = goodput_with(6 * hour, 5 * minute, 10 * minute, 200 * day);
    CHECK(goodput.fraction == approx(0.8192).epsilon(0.0005));
    CHECK(goodput.writing == approx(0.0719).epsilon(0.006));  // of 57 minutes; the best interval is 56.7
    CHECK(goodput.restarts == approx(0.0274).epsilon(0.003));
    CHECK(goodput.interruptions == approx(goodput.seconds / (6 * hour)));
    CHECK(goodput.seconds == approx(200 * day / goodput.fraction));
    CHECK(goodput.fraction + goodput.writing + goodput.rework + goodput.restarts == approx(1));
}

// The same simulation with checkpoints that are durable 5 minutes after they were taken, one right after the other:
// 0.9522 with a standard error of 0.00025, of which the last of 5000 writes is 0.0002.
TEST_CASE("goodput with checkpoints beside training is that of a simulation") {
    const Goodput goodput = goodput_with(6 * hour, 5 * minute, 10 * minute, 200 * day, false);
    CHECK(goodput.fraction == approx(0.9524).epsilon(0.0006));
    CHECK(goodput.interval_s == approx(5 * minute));
    CHECK(goodput.writing == 0);
    CHECK(goodput.fraction + goodput.rework + goodput.restarts == approx(1));
}

TEST_CASE("limits of the goodput") {
    // Without interruptions, one checkpoint at the end is left.
    const Goodput never = goodput_with(1e15, hour, hour, day);
    CHECK(never.seconds == approx(25 * hour));
    CHECK(never.interval_s == approx(day));
    CHECK(never.interruptions < 1e-9);
    // With free checkpoints, only restarts are left: e^(R/M), and a restart is shortened by the next interruption.
    const Goodput free = goodput_with(6 * hour, 1e-9, hour, 100 * day);
    CHECK(free.fraction == approx(std::exp(-1 / 6.0)).epsilon(1e-4));
    CHECK(free.restarts == approx(1 - std::exp(-1 / 6.0)));
    // To first order, losses at Young's interval are sqrt(2 delta / M), half of them rework.
    const Goodput small = goodput_with(day, 1e-4 * day, 0, 1000 * day);
    CHECK(1 - small.fraction == approx(std::sqrt(2e-4)).epsilon(0.02));
    CHECK(small.rework == approx(small.writing).epsilon(0.02));
}

// The formulas by hand at an interval of two hours: M = 6 hours, delta = 5 minutes, R = 0.
TEST_CASE("checkpoints are taken at the ends of steps") {
    for (const bool blocking : {true, false}) {
        const Recovery recovery{1 / (6 * hour), 1e12, 0, blocking, 2 * hour};
        const auto goodput = goodput_of(recovery, 300e12, 100 * day, 1);
        REQUIRE(goodput);
        CHECK(goodput->interval_s == approx(2 * hour));
        const double slowdown =
            blocking ? 3 * (std::exp(125.0 / 360) - 1) : 3 * std::exp(5.0 / 360) * (std::exp(120.0 / 360) - 1);
        CHECK(goodput->fraction == approx(1 / slowdown));
    }
}

TEST_CASE("a run that interruptions do not let advance is an error") {
    const Recovery often{1.0, 1e9, 600, true};
    const auto refused = goodput_of(often, 1e12, day, 1000);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "bad_failures");
    CHECK_FALSE(goodput_of(Recovery{1e308, 1e9, 0, false}, 1e12, day, 1000));
}

TEST_CASE("interruptions raise duration, chip-hours and price alike") {
    const TrainingCost ideal{1000, 1e20, 10 * day, 24000, 60000.0};
    const Goodput goodput = goodput_with(6 * hour, 5 * minute, 10 * minute, ideal.seconds);
    const TrainingCost cost = cost_with(goodput, ideal);
    CHECK(cost.seconds == approx(10 * day / goodput.fraction));
    CHECK(cost.chip_hours == approx(24000 / goodput.fraction));
    CHECK(*cost.usd == approx(60000 / goodput.fraction));
    CHECK(cost.tokens == 1000);
}

}  // namespace roofline::core
