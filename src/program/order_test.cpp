#include "program/order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace roofline::core;

namespace {

using Dims = std::vector<std::string>;

struct Chain {
    std::vector<Dims> operands;
    Dims result;
    Sizes sizes;
};

// Matrices d0 x d1, d1 x d2, ...
Chain chain(const std::vector<std::int64_t>& sides) {
    Chain made;
    const auto name = [](std::size_t i) { return "d" + std::to_string(i); };
    for (std::size_t i = 0; i < sides.size(); ++i) made.sizes.emplace(name(i), sides[i]);
    for (std::size_t i = 0; i + 1 < sides.size(); ++i) made.operands.push_back({name(i), name(i + 1)});
    made.result = {name(0), name(sides.size() - 1)};
    return made;
}

// Counts the multiplications of matrix products in this order by executing it.
std::int64_t multiplications(const Chain& problem, const std::vector<Pair>& order) {
    std::vector<Dims> left = problem.operands;
    std::int64_t sum = 0;
    for (const Pair& pair : order) {
        REQUIRE(pair.first < pair.second);
        REQUIRE(pair.second < left.size());
        std::set<std::string> all(left[pair.first].begin(), left[pair.first].end());
        all.insert(left[pair.second].begin(), left[pair.second].end());
        std::int64_t points = 1;
        for (const std::string& dim : all) points *= problem.sizes.at(dim);
        sum += points;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(pair.second));
        left[pair.first].clear();
        const auto needed = [&](const std::string& dim) {
            const auto holds = [&](const Dims& dims) { return std::find(dims.begin(), dims.end(), dim) != dims.end(); };
            return holds(problem.result) || std::any_of(left.begin(), left.end(), holds);
        };
        Dims kept;
        for (const std::string& dim : all) {
            if (needed(dim)) kept.push_back(dim);
        }
        left[pair.first] = kept;
    }
    REQUIRE(left.size() == 1);
    return sum;
}

std::int64_t cheapest(const Chain& problem) {
    return multiplications(problem, cheapest_order(problem.operands, problem.result, problem.sizes));
}

}  // namespace

TEST_CASE("the textbook chain of six matrices takes 15,125 multiplications") {
    // Cormen, Leiserson, Rivest, Stein, Introduction to Algorithms, matrix-chain multiplication
    CHECK(cheapest(chain({30, 35, 15, 5, 10, 20, 25})) == 15125);
}

TEST_CASE("two operands have one order") {
    const Chain two = chain({2, 3, 4});
    CHECK(cheapest_order(two.operands, two.result, two.sizes) == std::vector<Pair>{{0, 1}});
}

TEST_CASE("operands need not be adjacent to those they are multiplied with") {
    // The two large ones share K and are multiplied first, although another operand is between them.
    const Chain apart{{{"I", "K"}, {"I", "J"}, {"K", "J"}}, {"I"}, {{"I", 2}, {"J", 100}, {"K", 100}}};
    // Any first pair has the same number of points, 2*100*100; then 2*100 remain.
    CHECK(cheapest(apart) == 20000 + 200);
}

TEST_CASE("beyond ten operands the cheapest pair is multiplied first: a vector goes through eleven matrices") {
    // Twelve factors, 8x8 each but the last, which is 8x1: each multiplication from the right takes 64, any two
    // matrices take 512.
    const Chain long_chain = chain({8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 1});
    REQUIRE(long_chain.operands.size() == 12);
    CHECK(cheapest(long_chain) == 11 * 64);
    CHECK(cheapest(chain({8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 1})) == 9 * 64);  // ten factors, exactly
}

TEST_CASE("a hundred operands are ordered quickly") {
    const Chain many = chain(std::vector<std::int64_t>(101, 2));
    CHECK(cheapest(many) == 99 * 8);
}
