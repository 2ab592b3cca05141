#include "plan/plan_space.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "plan/spaces_test.hpp"

using namespace roofline::core;

namespace {

std::vector<Plan> plans_of(const PlanSpace& space, std::int64_t* undivided = nullptr) {
    std::vector<Plan> plans;
    const std::int64_t rejected = for_each_plan(space, [&](const Plan& plan) { plans.push_back(plan); });
    if (undivided != nullptr) *undivided = rejected;
    return plans;
}

}  // namespace

TEST_CASE("all splits of chips over the axes are plans, each once") {
    std::int64_t undivided = 0;
    PlanSpace space = space_of(8);
    space.zero = {0};
    const std::vector<Plan> plans = plans_of(space, &undivided);
    // three factors of 2 in six axes: 8 over 3 = 56 ways
    CHECK(plans.size() == 56);
    CHECK(undivided == 0);
    std::set<std::string> texts;
    for (const Plan& plan : plans) {
        CHECK(plan.chips() == 8);
        texts.insert(plan_text(plan));
    }
    CHECK(texts.size() == plans.size());
    // with an axis for experts 9 over 3 = 84, and those with tensor and experts on the same chips twice
    space.experts = 8;
    std::size_t over_tensor = 0;
    for (const Plan& plan : plans_of(space)) over_tensor += plan.experts_over_tensor ? 1 : 0;
    CHECK(plans_of(space).size() == 84 + over_tensor);
    // tensor = 2, 4 or 8 with two, one or no other factors in six other axes: 21 + 6 + 1
    CHECK(over_tensor == 28);
}

TEST_CASE("ZeRO stages count where weights have replicas") {
    const std::vector<Plan> plans = plans_of(space_of(2));
    // fsdp, tensor and pipeline have none; data, context and sequence have three stages
    CHECK(plans.size() == 3 + 3 * 3);
}

TEST_CASE("splits that do not divide are counted, fixed axes are kept and others left out") {
    std::int64_t undivided = 0;
    PlanSpace space = space_of(64);
    space.zero = {0};
    space.without = {"sequence", "context", "data"};
    // fsdp, tensor, pipeline over 2^6: 28 ways; 64 pipeline stages of 32 layers, and 64 ways for 32 heads are too many
    CHECK(plans_of(space, &undivided).size() == 26);
    CHECK(undivided == 2);
    space.fixed["tensor"] = 8;
    for (const Plan& plan : plans_of(space)) CHECK(plan.tensor == 8);
    CHECK(plans_of(space).size() == 4);
    space.fixed["tensor"] = 3;
    CHECK(plans_of(space).empty());
}

TEST_CASE("micro-batches divide a member's sequences, and schedules their number") {
    PlanSpace space = space_of(8);
    Plan plan;
    plan.data = 4;
    plan.tensor = 2;
    // 1, 2, 4, 8, 16 micro-batches of 16 sequences, three kinds of recomputation
    CHECK(choices_of(space, plan).size() == 5 * 3);
    space.remat = {Remat::full};
    plan.tensor = 1;
    plan.pipeline = 2;
    // 1F1B for all five, zero-bubble from 2 on, interleaved with 2, 4, 8 and 16 chunks of 16 layers for even numbers
    CHECK(choices_of(space, plan).size() == 5 + 4 + 4 * 4);
    space.schedules = {Schedule::interleaved};
    space.microbatches = 8;
    space.layers = 31;  // a stage has 16 or 15 layers: of each number of chunks some have a layer less
    CHECK(choices_of(space, plan).size() == 4);
    space.chunks = 4;
    REQUIRE(choices_of(space, plan).size() == 1);
    CHECK(schedule_text(choices_of(space, plan).front().schedule) == "interleaved:4");
    space.microbatches = 3;
    CHECK(choices_of(space, plan).empty());
}

TEST_CASE("the plans of all sets of axes are all plans, each once and in the same order") {
    PlanSpace space = space_of(24);
    space.experts = 8;
    space.layers = 12;
    std::int64_t undivided = 0;
    const std::vector<Plan> all = plans_of(space, &undivided);
    std::int64_t divided = 0;
    std::size_t found = 0;
    for (unsigned long bits = 0; bits < 256; ++bits) {
        std::vector<Plan> expected;
        for (const Plan& plan : all) {
            // the order of the bits is that of the documentation: the rarer an axis, the higher
            unsigned long axes = plan.experts_over_tensor ? 1 : 0;
            for (const std::int64_t degree :
                 {plan.sequence, plan.context, plan.expert, plan.pipeline, plan.tensor, plan.data, plan.fsdp}) {
                axes = 2 * axes + (degree > 1 ? 1 : 0);
            }
            if (axes == bits) expected.push_back(plan);
        }
        std::vector<Plan> plans;
        const auto visited = visit_plans(space, PlanAxes(bits), [&](const Plan& plan) {
            plans.push_back(plan);
            CHECK(axes_of(plan) == PlanAxes(bits));
            return true;
        });
        CHECK(plans == expected);
        CHECK(visited.all);
        divided += visited.undivided;
        found += plans.size();
    }
    CHECK(found == all.size());
    CHECK(divided == undivided);
    CHECK(undivided > 0);
}

TEST_CASE("a visit ends when it is told to, or after so many splits") {
    const PlanSpace space = space_of(8);
    int seen = 0;
    const auto stopped = visit_plans(space, PlanAxes(3), [&](const Plan&) { return ++seen < 2; });
    CHECK(seen == 2);
    CHECK_FALSE(stopped.all);
    seen = 0;
    // fsdp=4, data=2 and fsdp=2, data=4, with three ZeRO stages each
    CHECK(visit_plans(space, PlanAxes(3), [&](const Plan&) { return ++seen > 0; }, 2).all);
    CHECK(seen == 6);
    seen = 0;
    CHECK_FALSE(visit_plans(space, PlanAxes(3), [&](const Plan&) { return ++seen > 0; }, 1).all);
    CHECK(seen == 3);
}

TEST_CASE("micro-batches of a batch beyond any that is trained are found as fast as others") {
    PlanSpace space;
    space.sequences = std::int64_t{1} << 62U;
    space.remat = {Remat::full};
    // a schedule has at most 2^40 micro-batches
    CHECK(choices_of(space, {}).size() == 41);
    space.sequences = 999'983LL * 999'979;  // two primes
    CHECK(choices_of(space, {}).size() == 4);
}
