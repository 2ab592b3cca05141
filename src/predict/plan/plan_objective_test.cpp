#include "predict/plan/plan_objective.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/approx_test.hpp"
#include "network/slices_test.hpp"

using namespace roofline::core;

namespace {

using Points = std::vector<std::pair<double, double>>;

// By definition: a point that some other one equals or beats in both coordinates, and beats in one, is on no front; of
// equal points the first is.
std::vector<std::size_t> by_definition(const Points& points) {
    std::vector<std::size_t> front;
    for (std::size_t i = 0; i < points.size(); ++i) {
        bool beaten = false;
        for (std::size_t k = 0; k < points.size(); ++k) {
            const bool no_worse = points[k].first <= points[i].first && points[k].second <= points[i].second;
            beaten = beaten || (no_worse && (points[k] != points[i] || k < i));
        }
        if (!beaten) front.push_back(i);
    }
    std::sort(front.begin(), front.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
    return front;
}

// 4 chips at 3.6 USD and 700 W each take 2 s for a step of 1,000 tokens.
TrainAnswer small_run() {
    TrainAnswer answer;
    answer.slice.machine.network = {test_tier("switch", 8)};
    answer.slice.tiers = {{0, {4}, {false}}};
    answer.slice.machine.price = Price{3.6 / 3600};
    answer.slice.machine.power.value = Power{700};
    answer.batch = TrainingBatch{1000, 100, 1};
    answer.demand.chips = 4;
    answer.tokens_per_s = 500;
    answer.step.emplace();
    answer.step->memory.params = 30;
    answer.step->memory.optimizer = 12;
    return answer;
}

}  // namespace

TEST_CASE("a front has the points that no other one beats") {
    std::uint64_t state = 1;
    const auto next = [&] { return static_cast<double>((state = state * 6364136223846793005U + 1442695) >> 60U); };
    for (std::size_t number = 0; number < 60; ++number) {
        Points points;  // of 16 x 16 places, so that many are equal in one coordinate or in both
        for (std::size_t i = 0; i < number; ++i) {
            const double x = next();
            points.emplace_back(x, next());
        }
        CHECK(front_of(points) == by_definition(points));
    }
}

TEST_CASE("cost and energy are those of all chips for the time of a step, a million tokens, or the run") {
    TrainAnswer answer = small_run();
    PlanValues values = values_of(answer, PlanBasis::step);
    CHECK(values.seconds == approx(2));
    CHECK(*values.usd == approx(2 * 4 * 0.001));
    CHECK(*values.watts == approx(2800));
    CHECK(*values.joules == approx(5600));
    CHECK(values.bytes == 42);
    CHECK(*values.of(PlanObjective::chips) == 4);
    values = values_of(answer, PlanBasis::tokens);
    CHECK(values.seconds == approx(2000));
    CHECK(*values.usd == approx(8));
    CHECK(*values.joules == approx(5.6e6));
    answer.cost = training_cost(answer.demand, 3'000'000, 500, answer.slice.machine.price);
    CHECK(*values_of(answer, PlanBasis::run).usd == approx(24));
    // with interruptions the run takes its chips for twice as long
    answer.goodput.emplace();
    answer.goodput->fraction = 0.5;
    answer.goodput->seconds = 12'000;
    values = values_of(answer, PlanBasis::run);
    CHECK(values.seconds == approx(12'000));
    CHECK(*values.usd == approx(48));
    CHECK(*values.joules == approx(2800.0 * 12'000));
    answer.slice.machine.price.reset();
    answer.slice.machine.power.value.reset();
    CHECK_FALSE(values_of(answer, PlanBasis::step).of(PlanObjective::cost));
    CHECK_FALSE(values_of(answer, PlanBasis::step).of(PlanObjective::energy));
}

TEST_CASE("limits are exceeded by more than they allow, and by nothing where a value is not known") {
    PlanValues values;
    values.seconds = 10;
    values.chips = 8;
    values.watts = 5600;
    CHECK(exceeded({}, values).empty());
    CHECK(exceeded({10, {}, 5600, 8}, values).empty());
    CHECK(exceeded({{}, 1, {}, {}}, values).empty());
    const auto beyond = exceeded({4, {}, 2800, 2}, values);
    REQUIRE(beyond.size() == 3);
    CHECK(beyond[0].limit == PlanLimit::days);
    CHECK(beyond[0].factor() == 2.5);
    CHECK(beyond[1].limit == PlanLimit::power);
    CHECK(beyond[2].limit == PlanLimit::chips);
    CHECK(beyond[2].factor() == 4);
}

TEST_CASE("equal items keep their order when they are sorted") {
    using Item = std::pair<int, char>;
    const std::vector<Item> items{{2, 'a'}, {1, 'b'}, {2, 'c'}, {1, 'd'}};
    CHECK(sorted_by(items, [](const Item& item) { return item.first; }) ==
          std::vector<Item>{{1, 'b'}, {1, 'd'}, {2, 'a'}, {2, 'c'}});
}
