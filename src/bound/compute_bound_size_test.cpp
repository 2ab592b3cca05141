#include "bound/compute_bound_size.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

using State = Crossing::State;

CriticalSize at(const std::string& dim, const std::string& level, double root, std::optional<double> limit,
                bool above = true) {
    return {dim, level, Crossing{State::crossing, above, root}, limit};
}

CriticalSize everywhere(const std::string& dim, const std::string& level, State state,
                        std::optional<double> limit = std::nullopt) {
    return {dim, level, Crossing{state, true, std::nullopt}, limit};
}

}  // namespace

TEST_CASE("the slowest level determines the size from which compute takes longest") {
    const auto sizes = compute_bound_sizes({at("B", "hbm", 256, 241), at("B", "ici", 29620, 20400)});
    REQUIRE(sizes.size() == 1);
    CHECK(sizes[0].level == "ici");
    CHECK(sizes[0].crossing->root == 29620);
    CHECK(sizes[0].limit == 20400);
}

TEST_CASE("for crossings below a size, the smallest one counts") {
    const auto sizes =
        compute_bound_sizes({at("D", "hbm", 100, std::nullopt, false), at("D", "ici", 700, std::nullopt, false)});
    REQUIRE(sizes.size() == 1);
    CHECK(sizes[0].crossing->root == 100);
    CHECK_FALSE(sizes[0].limit);
}

TEST_CASE("if one level always takes longer there is no size; a level that is always shorter does not count") {
    const auto sizes = compute_bound_sizes({at("B", "hbm", 256, 241), at("D", "hbm", 654, 481),
                                            everywhere("B", "ici", State::never), at("D", "ici", 8756, 8755.5),
                                            everywhere("F", "ici", State::always), at("F", "hbm", 327, 241)});
    REQUIRE(sizes.size() == 3);
    CHECK(sizes[0].dim == "B");
    CHECK(sizes[0].crossing->state == State::never);
    CHECK_FALSE(sizes[0].limit);  // however large the other dimensions are, the network takes longer
    CHECK(sizes[1].crossing->root == 8756);
    CHECK(sizes[2].dim == "F");
    CHECK(sizes[2].crossing->root == 327);
    CHECK(sizes[2].limit == 241);
}

TEST_CASE("without sizes only limits that all levels have remain") {
    const auto sizes = compute_bound_sizes({{"B", "hbm", std::nullopt, 241},
                                            {"D", "hbm", std::nullopt, 481},
                                            {"B", "ici", std::nullopt, std::nullopt},
                                            {"D", "ici", std::nullopt, 8755.5}});
    REQUIRE(sizes.size() == 2);
    CHECK_FALSE(sizes[0].limit);
    CHECK_FALSE(sizes[1].crossing);
    CHECK(sizes[1].limit == 8755.5);
}

TEST_CASE("a dimension for which compute takes longest only between two sizes is left out") {
    CHECK(compute_bound_sizes({at("B", "hbm", 100, std::nullopt), at("B", "ici", 700, std::nullopt, false)}).empty());
}
