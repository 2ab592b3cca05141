#include "bound/times.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace roofline::core;

namespace {

/// Resources that are busy for this many seconds, of which a share is guaranteed.
Pricing busy_for(const std::vector<std::pair<int, double>>& resources) {
    Pricing pricing;
    for (const auto& [seconds, sure] : resources) {
        Term term{"", Polynomial(seconds), {}};
        term.rate.value = 1;
        term.sure = sure;
        pricing.resources.push_back({"", "", {term}});
    }
    return pricing;
}

Bounds bounds_of(const Pricing& pricing, std::vector<double>& seconds) {
    const CompiledTimes times(pricing, {}, {});
    seconds.resize(times.places());
    const Bounds bounds = times.evaluate({}, seconds);
    seconds.resize(2 * times.resources());
    return bounds;
}

}  // namespace

TEST_CASE("the bounds are the largest time and the sum") {
    std::vector<double> seconds;
    const Bounds bounds = bounds_of(busy_for({{2, 1}, {5, 1}, {1, 1}}), seconds);
    CHECK(bounds.lower == 5);
    CHECK(bounds.upper == 8);
    CHECK(bounds.bound_by == std::size_t{1});
    CHECK(seconds == std::vector<double>{2, 5, 1, 2, 5, 1});
    CHECK_FALSE(bounds_of(busy_for({{0, 1}}), seconds).bound_by.has_value());
}

TEST_CASE("the lower bound has the guaranteed work, the upper one all work") {
    // Two terms of one resource: 4 s, of which an eighth is guaranteed, and 1 s.
    Pricing pricing = busy_for({{1, 1}, {4, 0.125}});
    pricing.resources[1].terms.push_back(busy_for({{1, 1}}).resources[0].terms[0]);
    std::vector<double> seconds;
    const Bounds bounds = bounds_of(pricing, seconds);
    CHECK(bounds.lower == 1.5);
    CHECK(bounds.upper == 6);
    CHECK(bounds.bound_by == std::size_t{1});
    CHECK(seconds == std::vector<double>{1, 5, 1, 1.5});
}
