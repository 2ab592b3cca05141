#include "plan/stage_schedule.hpp"

#include <doctest/doctest.h>

namespace roofline {

namespace {

// The share of a step of m microbatches that a stage waits.
double bubble(std::string_view name, std::int64_t stages, std::int64_t microbatches) {
    const auto schedule = stage_schedule(name, stages, microbatches);
    REQUIRE(schedule);
    return schedule->waiting / (schedule->waiting + static_cast<double>(microbatches));
}

}  // namespace

// The formulas as papers write them: (p - 1)/(m + p - 1), and with v chunks (p - 1)/(m v + p - 1).
TEST_CASE("a stage waits as long as its schedule says") {
    CHECK(bubble("1f1b", 8, 24) == doctest::Approx(7.0 / 31));
    CHECK(bubble("gpipe", 8, 24) == doctest::Approx(7.0 / 31));
    CHECK(bubble("interleaved", 8, 24) == doctest::Approx(7.0 / 55));
    CHECK(bubble("zero-bubble", 8, 24) == doctest::Approx((7.0 / 3) / (24 + 7.0 / 3)));
    CHECK(bubble("", 8, 24) == bubble("1f1b", 8, 24));
    CHECK(bubble("1f1b", 1, 1) == 0);
}

TEST_CASE("a stage holds the activations of what is in flight") {
    CHECK(stage_schedule("gpipe", 8, 24)->in_flight == 24);
    CHECK(stage_schedule("1f1b", 8, 24)->in_flight == 8);
    CHECK(stage_schedule("1f1b", 8, 4)->in_flight == 4);
    // Megatron: 1 + (p - 1)/(p v) of what 1F1B holds
    CHECK(stage_schedule("interleaved", 8, 24)->in_flight == doctest::Approx(8 * (1 + 7.0 / 16)));
}

TEST_CASE("a mistyped schedule gets the nearest") {
    const auto schedule = stage_schedule("zero-buble", 2, 2);
    REQUIRE_FALSE(schedule);
    CHECK(schedule.error().hint == "did you mean `zero-bubble`?");
}

}  // namespace roofline
