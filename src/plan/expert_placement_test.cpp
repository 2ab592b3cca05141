#include "plan/expert_placement.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

ExpertRouting zipf(double exponent, std::optional<std::int64_t> redundant = {}) {
    ExpertRouting routing;
    routing.zipf = exponent;
    routing.redundant = redundant;
    return routing;
}

ExpertRouting measured(std::vector<double> popularity, std::optional<std::int64_t> redundant = {}) {
    ExpertRouting routing;
    routing.measured = std::move(popularity);
    routing.redundant = redundant;
    return routing;
}

double most_routes(const ExpertWork& work, double chips) { return work.read * work.rows / chips; }

std::string nearest(double experts, std::int64_t redundant, double chips) {
    const auto checked = check_placement(zipf(0, redundant), {experts, 2, chips});
    return checked ? "" : checked.error().hint.substr(checked.error().hint.rfind(' ') + 1);
}

}  // namespace

TEST_CASE("the busiest of several chips has more routes than the mean, by chance or as measured") {
    // the expected maximum of 8 standard normal numbers is 1.4236 (Harter 1961), and Blom's z 0.7 % larger; 64 tokens
    // with 8 choices of 256 experts make 64 routes per chip, so 64 + 1.42 * 8; of its 32 experts
    // 1 - (1 - 1/32)^64 = 0.8689 are read, 27.80 +- 1.909
    const SharedExperts shared{256, 8, 8};
    const PlacedExperts eight({}, shared);
    const ExpertWork work = eight.busiest_chip(64, 0);
    CHECK(work.read / 8 == approx(27.80 + 1.4236 * 1.909).epsilon(0.002));
    CHECK(most_routes(work, 8) == approx(64 + 1.4236 * 8).epsilon(0.002));
    // drawing the choices of 4,000 such batches at random gave 30.3 experts and 75.4 routes on average
    CHECK(work.read / 8 == approx(30.3).epsilon(0.01));
    CHECK(most_routes(work, 8) == approx(75.4).epsilon(0.01));
    CHECK(eight.imbalance() == approx(1));
    CHECK(eight.balancedness(64) == approx(64 / most_routes(work, 8)));
    // a chip has only 32 experts
    CHECK(eight.busiest_chip(1000, 0).read == approx(256));
    const ExpertWork given = eight.busiest_chip(64, 0.5);
    CHECK(given.read == work.read);
    CHECK(given.read * given.rows == approx(1024));
    // one chip has everything
    const ExpertWork alone = PlacedExperts({}, {256, 8, 1}).busiest_chip(64, 0.5);
    CHECK(alone.read == eight.read(64));
    CHECK(alone.read * alone.rows == approx(512));
    // experts that happen to be measured alike are no special case
    const PlacedExperts same(measured(std::vector<double>(256, 5)), shared);
    CHECK(same.busiest_chip(64, 0).read == approx(work.read));
    CHECK(same.balancedness(64) == approx(eight.balancedness(64)));
}

TEST_CASE("popular experts make their chip the busiest") {
    // 4 experts on 2 chips, chances 0.9, 0.6, 0.3, 0.2: 1.5 and 0.5 routes per token
    const PlacedExperts two(measured({9, 6, 3, 2}), {4, 2, 2});
    CHECK(two.imbalance() == approx(1.5));
    // of 10,000 tokens 15,000 go to the first chip; that the other has more is out of the question, and the quantile of
    // ((2 - 0.375) / (2 + 0.25))^2 = 0.52160 of a single normal number is 0.0542 standard deviations above the mean
    CHECK(most_routes(two.busiest_chip(10000, 0), 2) == approx(15000 + 0.0542 * 122.47).epsilon(1e-5));
    CHECK(two.busiest_chip(10000, 0).read == approx(4));
    // as measured: routes, but not the experts that are read
    CHECK(most_routes(two.busiest_chip(10000, 0.5), 2) == approx(20000));
    CHECK(two.busiest_chip(1, 0.5).read == two.busiest_chip(1, 0).read);
}

TEST_CASE("Zipf's law, with ids that do not depend on popularity") {
    // A separate program drew 20,000 orders of the ids, and 300 batches of 64 tokens with an order each (8 of 256
    // experts per token by systematic sampling): the mean of the largest over the mean popularity of 8 chips, and the
    // largest numbers of routes and of experts read on a chip.
    struct Drawn {
        double exponent, imbalance, routes, read;
    };
    for (const Drawn& drawn : {Drawn{0.5, 1.239, 83.1, 28.7}, Drawn{1, 1.894, 121.0, 22.2}}) {
        const PlacedExperts eight(zipf(drawn.exponent), {256, 8, 8});
        CHECK(eight.imbalance() == approx(drawn.imbalance).epsilon(0.005));
        const ExpertWork work = eight.busiest_chip(64, 0);
        CHECK(most_routes(work, 8) == approx(drawn.routes).epsilon(0.05));
        CHECK(work.read / 8 == approx(drawn.read).epsilon(0.05));
    }
    CHECK(PlacedExperts(zipf(1), {256, 8, 1}).imbalance() == approx(1));
}

TEST_CASE("EPLB places replicas by decreasing load on the chip with the least that has room") {
    // loads 0.9, 0.6, 0.3, 0.2: without replicas 0.9 + 0.2 and 0.6 + 0.3
    CHECK(PlacedExperts(measured({9, 6, 3, 2}, 0), {4, 2, 2}).imbalance() == approx(1.1));
    // two replicas make 0.45, 0.45, 0.3, 0.3, 0.3, 0.2: 0.45 + 0.3 + 0.2 and 0.45 + 0.3 + 0.3
    const PlacedExperts six(measured({9, 6, 3, 2}, 2), {4, 2, 2});
    CHECK(six.imbalance() == approx(1.05));
    CHECK(six.read(1e6) == approx(6));
    // loads 1, 1/3, 1/3, 1/3: the second chip is full with two, so that the first gets 4/3 although it has more
    CHECK(PlacedExperts(measured({9, 1, 1, 1}, 0), {4, 2, 2}).imbalance() == approx(4.0 / 3));
    // experts that are alike stay so with a replica of each
    CHECK(PlacedExperts(zipf(0, 8), {8, 2, 4}).imbalance() == approx(1));
    // DeepSeek-V3 has 32 redundant experts on 32 chips in prefill
    const PlacedExperts prefill(zipf(1, 32), {256, 8, 32});
    CHECK(prefill.imbalance() < 1.1);
    CHECK(prefill.imbalance() < PlacedExperts(zipf(1, 0), {256, 8, 32}).imbalance());
}

TEST_CASE("chips that share experts need the same number of them") {
    CHECK(nearest(256, 32, 32).empty());
    CHECK(nearest(256, 64, 320).empty());
    CHECK(nearest(256, 30, 8) == "32");
    CHECK(nearest(256, 33, 8) == "32");
    CHECK(nearest(256, 1, 8) == "0");
    CHECK(nearest(6, 1, 4) == "2");
    CHECK(nearest(8, 0, 3) == "1");
    CHECK(check_placement(zipf(1), {6, 2, 4}));
    const auto alone = check_placement(zipf(0, 8), {8, 2, 1});
    REQUIRE_FALSE(alone);
    CHECK(alone.error().code == "bad_redundant_experts");
}
