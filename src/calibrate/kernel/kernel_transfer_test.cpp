#include "calibrate/kernel/kernel_transfer.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"

using namespace roofline::core;

TEST_CASE("a measured machine, which has no year, is like the machine that it is and not like the oldest") {
    const auto h200 = find_machine("h200-sxm");
    REQUIRE(h200);
    Machine measured = *h200;
    measured.id = "nvidia-h200";
    measured.year = 0;
    for (Peak& peak : measured.peaks) peak.rate.value->value *= 0.8;
    for (MemoryLevel& level : measured.memory) {
        if (level.id == "hbm") level.bandwidth.value->value *= 0.9;
    }
    // by hand: log2(1 / 0.8) + log2(1 / 0.9)
    CHECK(machine_distance(measured, *h200) == approx(0.4739).epsilon(0.001));
    for (const char* other : {"a100-sxm4-80", "h100-sxm", "b200"}) {
        CAPTURE(other);
        const auto machine = find_machine(other);
        REQUIRE(machine);
        CHECK(machine_distance(measured, *h200) < machine_distance(measured, *machine));
        CHECK(machine_distance(*h200, *machine) > std::abs(h200->year - machine->year));
    }
}
