#include <doctest/doctest.h>

#include <algorithm>

#include "measure/cpu/measure_parts.hpp"

using namespace roofline::core;

namespace {

constexpr std::int64_t kib = 1024;
constexpr std::int64_t mib = 1024 * kib;

}  // namespace

TEST_CASE("the bandwidth of a cache is measured from near the inner level up to most of a thread's share") {
    // two processors of a virtual machine that see the 480 MiB of a whole socket, of which they get a few
    const CpuCache shared{3, 480 * mib, 1, 2};
    const auto sets = cache_working_sets(shared, 2 * mib);
    REQUIRE(sets.size() == 5);
    CHECK(std::ranges::is_sorted(sets));
    CHECK(sets.front() == 5760 * kib);  // 90 MiB, twice quartered: the next quarter would be within two L2 caches
    CHECK(sets.back() == static_cast<std::size_t>(180 * mib));

    const auto own = cache_working_sets(CpuCache{2, 2 * mib, 2, 1}, 48 * kib);
    REQUIRE(own.size() == 4);
    CHECK(own.front() == 192 * kib);
    CHECK(own.back() == 1536 * kib);
}

TEST_CASE("working sets of a cache lie outside the inner level") {
    CHECK(cache_working_sets(CpuCache{1, 48 * kib, 1, 1}, 0) == std::vector<std::size_t>{18 * kib, 24 * kib, 36 * kib});
    CHECK(cache_working_sets(CpuCache{3, 4 * mib, 1, 2}, mib) == std::vector<std::size_t>{1792 * kib});
    CHECK(cache_working_sets(CpuCache{3, 2 * mib, 1, 2}, mib).empty());
    for (std::int64_t inner = 256 * kib; inner < 64 * mib; inner *= 2) {
        for (const std::size_t set : cache_working_sets(CpuCache{3, 256 * mib, 1, 1}, inner)) {
            CHECK(static_cast<std::int64_t>(set) >= 2 * inner);
            CHECK(static_cast<std::int64_t>(set) <= 192 * mib);
        }
    }
}
