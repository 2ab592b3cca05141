#include "import/profile/nsys_sqlite.hpp"

#include <doctest/doctest.h>

#include "text/shared_text_test.hpp"

using namespace roofline::core;

TEST_CASE("nsys: other files are refused") {
    CHECK_FALSE(is_sqlite("SQLite format 2"));
    std::string head("SQLite format 3\0", 16);
    CHECK(is_sqlite(head));
    const auto profile = read_nsys_sqlite(head + std::string(84, '\0'), "f.sqlite");
    REQUIRE_FALSE(profile);
    CHECK((profile.error().code == "bad_profile" || profile.error().code == "no_sqlite"));
}

// The figures are those of sums over the tables in Python's sqlite3.
TEST_CASE("nsys: the recorded report") {
    const auto bytes = shared_text("samples/ncu/nsys_power_iteration.sqlite.gz");
    if (!bytes) return;
    const auto profile = read_nsys_sqlite(*bytes, "nsys.sqlite");
    if (!profile && profile.error().code == "no_sqlite") {
        MESSAGE("skipped: built without SQLite");
        return;
    }
    REQUIRE(profile);
    std::int64_t kernel_ns = 0;
    std::size_t kernels = 0;
    std::size_t copies = 0;
    std::size_t launched = 0;
    for (const DeviceEvent& event : profile->events) {
        if (event.work == DeviceWork::copy) ++copies;
        if (event.work != DeviceWork::kernel) continue;
        ++kernels;
        kernel_ns += event.duration_ns;
        launched += event.launch != no_index ? 1U : 0U;
    }
    CHECK(kernels == 3689);
    CHECK(kernel_ns == 1'131'742'684);
    CHECK(copies == 89);
    CHECK(launched == 3689);
    CHECK(profile->launches.size() == 7417);
    // A part of a database is no database.
    for (const std::size_t size : {std::size_t{100}, bytes->size() / 3, bytes->size() - 5000}) {
        const auto part = read_nsys_sqlite(std::string_view(*bytes).substr(0, size), "part");
        CHECK((!part || part->events.size() <= profile->events.size()));
    }
}
