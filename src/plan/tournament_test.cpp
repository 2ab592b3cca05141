#include "plan/tournament.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "plan/random_numbers.hpp"

using namespace roofline::core;

TEST_CASE("a tournament finds the first of the least values, as a search through all of them does") {
    for (const std::size_t players : {1U, 2U, 3U, 8U, 13U}) {
        CAPTURE(players);
        std::vector<std::int64_t> values(players, 5);
        Tournament<std::int64_t> tournament(players, 5);
        CHECK(tournament.least() == 0);
        RandomNumbers random(7);
        for (int i = 0; i < 300; ++i) {
            const auto player = static_cast<std::size_t>(random.uniform() * static_cast<double>(players));
            values[player] = static_cast<std::int64_t>(random.uniform() * 6);
            tournament.set(player, values[player]);
            const auto least = std::min_element(values.begin(), values.end());
            REQUIRE(tournament.least() == static_cast<std::size_t>(least - values.begin()));
            REQUIRE(tournament.least_value() == *least);
        }
    }
}
