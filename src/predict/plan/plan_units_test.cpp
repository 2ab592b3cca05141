#include "predict/plan/plan_units.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "plan/spaces_test.hpp"

using namespace roofline::core;

namespace {

std::int64_t plans_in(const PlanSpace& space) {
    std::int64_t plans = 0;
    for_each_plan(space, [&](const Plan& plan) { plans += std::ssize(choices_of(space, plan)); });
    return plans;
}

std::int64_t searched(const std::vector<PlanUnit>& units) {
    std::int64_t plans = 0;
    for (const PlanUnit& unit : units) plans += unit.searched;
    return plans;
}

}  // namespace

TEST_CASE("units have all plans of a space, simple ones first") {
    const PlanSpace space = space_of(16);
    const auto units = units_of(space, {});
    REQUIRE(units);
    // six axes without experts: 16 = 2^4 over one to four of them; of fsdp, tensor and pipeline, which have no
    // replicas, there is one unit, of others one for each of three ZeRO stages
    const auto without_replicas = [](int of) { return of == 1 || of == 2 ? 3 : of == 3 ? 1 : 0; };
    std::size_t expected = 0;
    const std::array<int, 4> sets{6, 15, 20, 15};
    for (int of = 1; of <= 4; ++of) {
        expected += static_cast<std::size_t>(3 * sets[static_cast<std::size_t>(of - 1)] - 2 * without_replicas(of));
    }
    CHECK(units->size() == expected);
    CHECK(searched(*units) == plans_in(space));
    for (std::size_t i = 0; i < units->size(); ++i) {
        const PlanUnit& unit = (*units)[i];
        CHECK(unit.number == static_cast<std::int64_t>(i));
        CHECK(unit.axes.count() >= (*units)[i == 0 ? 0 : i - 1].axes.count());
        std::int64_t plans = 0;
        visit_unit(space, unit, [&](const Plan& plan) {
            plans += std::ssize(choices_of(space, plan));
            return true;
        });
        CHECK(plans == unit.plans);
    }
}

TEST_CASE("every unit is in one of the parts, and they cost about the same") {
    const auto units = units_of(space_of(64), {});
    REQUIRE(units);
    double all = 0;
    double largest = 0;
    for (const PlanUnit& unit : *units) {
        all += unit.cost;
        largest = std::max(largest, unit.cost);
    }
    for (const std::int64_t of : {1, 3, 7, 16, 500}) {
        std::set<std::int64_t> numbers;
        std::size_t count = 0;
        for (std::int64_t number = 1; number <= of; ++number) {
            const auto mine = units_of_part(*units, {number, of});
            double cost = 0;
            for (const PlanUnit& unit : mine) {
                numbers.insert(unit.number);
                cost += unit.cost;
            }
            count += mine.size();
            // the greatest load of this rule is at most 4/3 of the best one (Graham 1969), and the best one is not
            // below the mean or the largest unit
            if (of <= 16) CHECK(cost <= 4.0 / 3 * std::max(largest, all / static_cast<double>(of)) + 1e-6);
        }
        CHECK(numbers.size() == units->size());
        CHECK(count == units->size());
    }
}

TEST_CASE("a limit is shared out among the units, and in each the plans are spread") {
    const PlanSpace space = space_of(16);
    for (const std::int64_t limit : {1, 17, 500, 1'000'000}) {
        const auto units = units_of(space, limit);
        REQUIRE(units);
        CHECK(searched(*units) == std::min(limit, plans_in(space)));
        std::int64_t most = 0;
        for (const PlanUnit& unit : *units) most = std::max(most, unit.searched);
        for (const PlanUnit& unit : *units) {
            // one that is not searched as a whole has as many as any other, up to what does not divide
            if (unit.searched < unit.plans) CHECK(unit.searched >= most - 1);
            std::int64_t seen = 0;
            for (std::int64_t place = 0; place < unit.plans; ++place) {
                if (unit.searches(place, place + 1)) ++seen;
            }
            CHECK(seen == unit.searched);
            if (unit.searched > 1) CHECK(unit.searches(0, unit.plans / unit.searched + 1));
        }
    }
}

TEST_CASE("a space of too many plans is refused with their number, unless there is a limit") {
    PlanSpace space = space_of(64);
    space.remat.assign(20'000, Remat::full);
    const auto refused = units_of(space, {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "too_many_plans");
    space.remat = {Remat::full};
    const auto text = "the space has " + std::to_string(20'000 * plans_in(space)) + " plans";
    CHECK_MESSAGE(refused.error().message.find(text) == 0, refused.error().message);
    // nobody needs to know how many more they are
    space.chips = space.sequences = 1 << 14;
    space.remat.assign(4'000'000, Remat::full);
    const auto huge = units_of(space, {});
    REQUIRE_FALSE(huge);
    const std::string more = "the space has more than ";
    REQUIRE(huge.error().message.starts_with(more));
    const double plans = std::stod(huge.error().message.substr(more.size()));
    CHECK(plans > 1e12);
    space.remat = {Remat::full};
    CHECK(plans < 4e6 * static_cast<double>(plans_in(space)));
    // 2^5 3^3 5^2 7 11 13 17 chips: units with too many splits to count
    space.chips = 367'567'200;
    space.sequences = 367'567'200;
    space.sequence = 367'567'200;
    space.heads = 1;
    space.queries = 1;
    space.without = {"sequence", "context", "expert"};
    const auto uncounted = units_of(space, {});
    REQUIRE_FALSE(uncounted);
    CHECK(uncounted.error().message.find("more than") != std::string::npos);
    const auto limited = units_of(space, 1000);
    REQUIRE(limited);
    CHECK(searched(*limited) == 1000);
}
