#include "measure/cpu/worker_team.hpp"

#include <doctest/doctest.h>

#include <atomic>

#include "measure/cpu/clock_probe.hpp"
#include "measure/cpu/core_placement.hpp"
#include "measure/cpu/topology.hpp"

using namespace roofline::core;

TEST_CASE("each requested worker is called once") {
    // three threads on any processors, even on a single one
    const std::vector<int> allowed = allowed_cpus();
    WorkerTeam team;
    REQUIRE(team.start({allowed.front(), allowed.back(), allowed.front()}));
    CHECK(team.size() == 3);
    for (const int workers : {1, 2, 3, 1, 3}) {
        std::atomic<int> calls{0};
        std::atomic<int> indices{0};
        const Sample sample = team.run(workers, [&](int worker) {
            calls.fetch_add(1);
            indices.fetch_add(1 << (4 * worker));
        });
        CHECK(calls.load() == workers);
        CHECK(indices.load() == (workers == 1 ? 0x1 : workers == 2 ? 0x11 : 0x111));
        CHECK(sample.seconds >= 0);
        CHECK(sample.hertz == 0);
    }
    CHECK(team.run(1, [](int) {}, true).hertz > 0);
    CHECK_FALSE(team.start(allowed));
}

TEST_CASE("a processor that does not exist leaves its thread unpinned") {
    WorkerTeam team;
    REQUIRE(team.start({1 << 20}));
    CHECK(team.unpinned() == 1);
    int called = 0;
    team.run(1, [&](int) { ++called; });
    CHECK(called == 1);
}

TEST_CASE("the clock probe computes the right sum") {
    CHECK(probe_clock(1000).sum == 16000);
    CHECK(probe_clock(1000).hertz > 0);
    CHECK(probe_clock(-3).sum == 16);
}

TEST_CASE("core placement follows from the time of a cache line") {
    CHECK(placement_of({}) == CorePlacement::single);
    CHECK(placement_of({25e-9, 30e-9}) == CorePlacement::near);
    CHECK(placement_of({25e-9, 160e-9}) == CorePlacement::mixed);
    CHECK(placement_of({170e-9}) == CorePlacement::far);
}

TEST_CASE("a core probe ends, even on one processor") {
    WorkerTeam one;
    REQUIRE(one.start({allowed_cpus().front()}));
    CHECK(probe_cores(one, 4).empty());
    WorkerTeam two;
    const std::vector<int> allowed = allowed_cpus();
    REQUIRE(two.start({allowed.front(), allowed.back()}));
    const std::vector<double> seconds = probe_cores(two, 4);
    REQUIRE(seconds.size() == 1);
    CHECK(seconds.front() > 0);
}
