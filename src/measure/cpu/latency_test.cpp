#include "measure/cpu/latency.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace roofline::core;

TEST_CASE("the ring visits every line once and returns to its start") {
    constexpr std::size_t lines = 1000;
    std::vector<char> memory(64 * lines + 64);
    char* start = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
    make_pointer_ring(start, 64 * lines);
    std::set<const char*> seen;
    const char* at = start;
    for (std::size_t i = 0; i < lines; ++i) {
        seen.insert(at);
        at = follow_pointers(at, 1);
    }
    CHECK(seen.size() == lines);
    CHECK(at == start);
    CHECK(follow_pointers(start, static_cast<std::int64_t>(lines)) == start);
    CHECK(follow_pointers(start, static_cast<std::int64_t>(lines) - 1) != start);
}

TEST_CASE("plateaus are ranges of constant latency") {
    const std::vector<LatencyPoint> points{{4096, 1.1e-9},     {8192, 1.1e-9},     {16384, 1.1e-9},  {32768, 1.15e-9},
                                           {65536, 3.9e-9},    {131072, 4.0e-9},   {262144, 4.1e-9}, {524288, 7e-9},
                                           {1048576, 12e-9},   {2097152, 12.5e-9}, {4194304, 13e-9}, {33554432, 50e-9},
                                           {67108864, 110e-9}, {134217728, 120e-9}};
    const auto plateaus = find_plateaus(points);
    REQUIRE(plateaus.size() == 4);
    CHECK(plateaus[0].last_bytes == 32768);
    CHECK(plateaus[1].first_bytes == 65536);
    CHECK(plateaus[1].last_bytes == 262144);
    CHECK(plateaus[2].seconds == 12.5e-9);
    CHECK(plateaus[3].first_bytes == 67108864);
}

TEST_CASE("a slow rise is one plateau, and a single point is not a plateau") {
    CHECK(find_plateaus({}).empty());
    CHECK(find_plateaus({{4096, 1e-9}}).empty());
    CHECK(find_plateaus({{4096, 1e-9}, {8192, 2e-9}, {16384, 4e-9}}).empty());
    const auto one = find_plateaus({{1, 1e-9}, {2, 1.1e-9}, {4, 1.25e-9}, {8, 1.3e-9}});
    REQUIRE(one.size() == 1);
    CHECK(one.front().last_bytes == 8);
}
