#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "measure/sampling.hpp"

using namespace roofline::core;

namespace {

// user nice system idle iowait irq softirq steal guest guest_nice
constexpr const char* stat =
    "cpu  100 0 50 900 10 0 5 30 0 0\n"
    "cpu0 60 0 25 450 5 0 5 10 0 0\n"
    "cpu1 40 0 25 450 5 0 0 20 0 0\n"
    "intr 12345 0 9\n";

}  // namespace

TEST_CASE("stolen time is read from the eighth column of /proc/stat, for the requested processors") {
    CHECK(stolen_seconds(stat, {}, 100) == approx(0.3));
    CHECK(stolen_seconds(stat, {0}, 100) == approx(0.1));
    CHECK(stolen_seconds(stat, {0, 1}, 100) == approx(0.3));
    CHECK(stolen_seconds(stat, {7}, 100) == 0);
}

TEST_CASE("/proc/stat of an old kernel or a broken one gives zero, not an error") {
    CHECK(stolen_seconds("cpu  100 0 50 900\n", {}, 100) == 0);
    CHECK(stolen_seconds("", {}, 100) == 0);
    CHECK(stolen_seconds("cpu", {}, 100) == 0);
    CHECK(stolen_seconds("cpuX a b c\ncpu  1 x\n", {}, 100) == 0);
    CHECK(stolen_seconds(stat, {}, 0) == 0);
}

TEST_CASE("a sample is clean if its threads kept their processors and no time was stolen") {
    Sample sample;
    CHECK(clean(sample, 0.985));
    sample.stolen_s = 0.01;
    CHECK_FALSE(clean(sample, 0.985));
    sample.stolen_s = 0;
    sample.cpu_share = 0.9;
    CHECK_FALSE(clean(sample, 0.985));
}
