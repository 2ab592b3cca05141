#include "plan/assignment.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "base/approx_test.hpp"
#include "measure/module.hpp"

using namespace roofline::core;

namespace {

using Jobs = std::vector<std::vector<AssignmentOption>>;

// Null where the library is not installed.
MilpSolver* solver() {
    const auto loaded = load_module_as<MilpSolver>("cbc", "solver", "coinor-libcbc-dev");
    if (!loaded) MESSAGE("skipped: " << loaded.error().message);
    return loaded ? *loaded : nullptr;
}

// The least cost by trying everything; infinite if nothing fits.
double least_cost(std::vector<std::int64_t> left, const Jobs& jobs, std::size_t job = 0) {
    if (job == jobs.size()) return 0;
    double least = std::numeric_limits<double>::infinity();
    for (const AssignmentOption& option : jobs[job]) {
        if (option.chips > left[option.pool]) continue;
        left[option.pool] -= option.chips;
        least = std::min(least, option.usd + least_cost(left, jobs, job + 1));
        left[option.pool] += option.chips;
    }
    return least;
}

}  // namespace

// Both jobs are cheapest on the first pool, which has room for one of them. The second pool costs the first job 2 more
// and the second job 5 more, so the first one goes there.
TEST_CASE("of two jobs the one goes to the dearer pool that loses less there") {
    MilpSolver* cbc = solver();
    if (cbc == nullptr) return;
    const Jobs jobs{{{0, 8, 10}, {1, 8, 12}}, {{0, 8, 20}, {1, 8, 25}}};
    const std::vector<std::int64_t> chips{8, 8};
    const auto found = assign(chips, jobs, *cbc);
    REQUIRE(found);
    CHECK(found->chosen == std::vector<std::size_t>{1, 0});
    CHECK(found->usd == 32);
    CHECK(found->bound_usd == 32);
    const std::vector<std::int64_t> small{8, 4};
    const auto none = assign(small, jobs, *cbc);
    REQUIRE_FALSE(none);
    CHECK(none.error().code == "infeasible");
    const auto lacking = lacking_chips(small, jobs, *cbc);
    REQUIRE(lacking);
    CHECK(*lacking == std::vector<std::int64_t>{0, 4});
}

TEST_CASE("assignments cost as little as the best of all, tried one by one") {
    MilpSolver* cbc = solver();
    if (cbc == nullptr) return;
    std::mt19937 random(7);
    const auto draw = [&](std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
    };
    int fitting = 0;
    int crowded = 0;
    for (int round = 0; round < 200; ++round) {
        const std::vector<std::int64_t> chips{draw(8, 40), draw(8, 40), draw(0, 20)};
        Jobs jobs(static_cast<std::size_t>(draw(1, 6)));
        for (auto& options : jobs) {
            for (std::int64_t i = draw(1, 5); i > 0; --i) {
                options.push_back(
                    {static_cast<std::size_t>(draw(0, 2)), draw(1, 16), static_cast<double>(draw(1, 1'000'000)) / 7});
            }
        }
        const double least = least_cost(chips, jobs);
        const auto found = assign(chips, jobs, *cbc);
        if (std::isinf(least)) {
            ++crowded;
            REQUIRE_FALSE(found);
            CHECK(found.error().code == "infeasible");
            // with the chips that are lacking everything fits, with one fewer in any pool it does not
            const auto lacking = lacking_chips(chips, jobs, *cbc);
            REQUIRE(lacking);
            auto enough = chips;
            for (std::size_t i = 0; i < chips.size(); ++i) enough[i] += (*lacking)[i];
            CHECK_FALSE(std::isinf(least_cost(enough, jobs)));
            for (std::size_t i = 0; i < chips.size(); ++i) {
                if ((*lacking)[i] == 0) continue;
                auto fewer = enough;
                --fewer[i];
                CHECK(std::isinf(least_cost(fewer, jobs)));
            }
            continue;
        }
        ++fitting;
        REQUIRE(found);
        CHECK(found->usd == approx(least).epsilon(1e-12));
        CHECK(found->bound_usd == found->usd);
        std::vector<std::int64_t> used(chips.size());
        for (std::size_t job = 0; job < jobs.size(); ++job) {
            const AssignmentOption& option = jobs[job][found->chosen[job]];
            used[option.pool] += option.chips;
        }
        for (std::size_t i = 0; i < chips.size(); ++i) CHECK(used[i] <= chips[i]);
    }
    CHECK(fitting > 10);
    CHECK(crowded > 5);
}

// 40 jobs with six options each in three pools, all nearly full.
TEST_CASE("a fleet of dozens of jobs is proven to cost the least") {
    MilpSolver* cbc = solver();
    if (cbc == nullptr) return;
    std::mt19937 random(11);
    Jobs jobs(40);
    for (auto& options : jobs) {
        const auto work = static_cast<double>(1 + random() % 100);
        for (std::size_t pool = 0; pool < 3; ++pool) {
            const double price = 1 + 0.3 * static_cast<double>(pool) + 0.1 * static_cast<double>(random() % 10);
            options.push_back({pool, 8, work * price});
            options.push_back({pool, 16, work * price * 1.1});
        }
    }
    const std::vector<std::int64_t> chips{96, 128, 104};
    const auto found = assign(chips, jobs, *cbc);
    REQUIRE(found);
    CHECK(found->bound_usd == found->usd);
    const auto again = assign(chips, jobs, *cbc);
    REQUIRE(again);
    CHECK(again->chosen == found->chosen);
}
