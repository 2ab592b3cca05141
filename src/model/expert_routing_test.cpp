#include "model/expert_routing.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>

#include "base/approx_test.hpp"
#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

Program program_of(std::string_view text) {
    auto program = parse_program(text);
    if (!program) FAIL(program.error().message);
    return std::move(*program);
}

/// Four experts, of which each token chooses two.
const char* const four_experts =
    "B=3, D=4, E=4, A=2, C=7\nX : bf16[B, D]\nChosen : int32[B, A]\nY : bf16[E, C, D] = dispatch[E,C](X, Chosen)\n";

std::vector<double> chances(const std::vector<RoutedReplicas>& experts) {
    std::vector<double> all;
    for (const RoutedReplicas& each : experts) all.push_back(each.chance);
    return all;
}

ExpertRouting zipf(double exponent) {
    ExpertRouting routing;
    routing.zipf = exponent;
    return routing;
}

ExpertRouting measured(std::vector<double> popularity) {
    ExpertRouting routing;
    routing.measured = std::move(popularity);
    return routing;
}

std::string code(const ExpertRouting& routing, const char* text = four_experts) {
    const auto checked = check_routing(routing, program_of(text));
    return checked ? "" : checked.error().code + ": " + checked.error().message;
}

}  // namespace

TEST_CASE("the expected number of experts that at least one token chooses") {
    const ExpertRouting uniform;
    CHECK(likely_experts(uniform, 8, 2, 1) == 2);
    CHECK(likely_experts(uniform, 8, 2, 2) == 4);      // 8 (1 - 0.75^2) = 3.5
    CHECK(likely_experts(uniform, 256, 8, 10) == 70);  // 256 (1 - (31/32)^10) = 69.6
    CHECK(likely_experts(uniform, 256, 8, 100000) == 256);
    CHECK(likely_experts(uniform, 4, 4, 1) == 4);
    CHECK(likely_experts(uniform, 4, 9, 1) == 4);
    // chances 0.9, 0.6, 0.3, 0.2: two tokens read 0.99 + 0.84 + 0.51 + 0.36 = 2.7 experts
    CHECK(expected_experts(routed_replicas(measured({9, 6, 3, 2}), 4, 2), 2, 2) == approx(2.7));
    CHECK(likely_experts(measured({9, 6, 3, 2}), 4, 2, 2) == 3);
    // never fewer than a token chooses, even if chips have less than a token on average, nor more than are ever chosen
    CHECK(expected_experts(routed_replicas(measured({9, 6, 3, 2}), 4, 2), 2, 0.25) == 2);
    CHECK(likely_experts(measured({1, 1, 0, 0}), 4, 2, 1000) == 2);
}

TEST_CASE("popular experts are read, and the others seldom: Zipf's law for 256 experts, 8 per token, 64 tokens") {
    // Means of 300 batches drawn in a separate program, by systematic sampling: 8 distinct experts per token, each with
    // its probability. (If tokens draw experts one after another without replacement they are 204.8 and 152.6.)
    CHECK(expected_experts(routed_replicas(zipf(0), 256, 8), 8, 64) == approx(222.4).epsilon(0.005));
    CHECK(expected_experts(routed_replicas(zipf(0.5), 256, 8), 8, 64) == approx(204.6).epsilon(0.005));
    CHECK(expected_experts(routed_replicas(zipf(1), 256, 8), 8, 64) == approx(145.7).epsilon(0.005));
}

TEST_CASE("probabilities are in proportion to popularity, at most 1, and add up to the choices") {
    CHECK(chances(routed_replicas({}, 4, 2)) == std::vector<double>{0.5});
    const auto plain = chances(routed_replicas(measured({3, 3, 2, 2}), 4, 2));
    CHECK(plain[0] == approx(0.6));
    CHECK(plain[3] == approx(0.4));
    // 2 * 6/10 is more than 1: the first is certain, and the others share the second choice as 2:1:1
    const auto capped = chances(routed_replicas(measured({1, 6, 2, 1}), 4, 2));
    CHECK(capped[0] == approx(0.25));
    CHECK(capped[1] == approx(1));
    CHECK(capped[2] == approx(0.5));
    for (const double exponent : {0.3, 1.0, 3.0, 10.0}) {
        const auto all = chances(routed_replicas(zipf(exponent), 384, 8));
        CHECK(std::accumulate(all.begin(), all.end(), 0.0) == approx(8));
        for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i] <= all[i - 1]);
    }
}

TEST_CASE("each replica is given to the expert with the largest load per replica, as EPLB does") {
    ExpertRouting routing = measured({50, 25, 15, 10});
    routing.redundant = 4;
    // loads 1, 0.5, 0.3, 0.2 of 2 choices: the first (0.5), again (0.333; of equal ones the smaller id), the second
    // (0.25), and the first (0.25)
    const auto experts = routed_replicas(routing, 4, 2);
    CHECK(experts[0].replicas == 4);
    CHECK(experts[0].chance == approx(0.25));
    CHECK(experts[1].replicas == 2);
    CHECK(experts[1].chance == approx(0.25));
    CHECK(experts[2].replicas == 1);
    CHECK(experts[3].replicas == 1);
    // of two experts with the largest load, that of the smaller id
    ExpertRouting even = measured({1, 2, 2, 1});
    even.redundant = 1;
    const auto tied = routed_replicas(even, 4, 2);
    CHECK(tied[1].replicas == 2);
    CHECK(tied[2].replicas == 1);
    // two tokens: 6 replicas of 1 - 0.75^2, 1 - 0.7^2 and 1 - 0.8^2
    CHECK(expected_experts(experts, 2, 2) == approx(6 * 0.4375 + 0.51 + 0.36));
}

TEST_CASE("routing that a program cannot have is refused") {
    CHECK(code({}).empty());
    CHECK(code(zipf(1)).empty());
    CHECK(code(measured({1, 0, 0, 3})).empty());
    CHECK(code(zipf(-1)) == "bad_routing: the exponent of Zipf's law is -1");
    CHECK(code(zipf(11)).starts_with("bad_routing"));
    CHECK(code(zipf(std::numeric_limits<double>::quiet_NaN())).starts_with("bad_routing"));
    CHECK(code(zipf(std::numeric_limits<double>::infinity())).starts_with("bad_routing"));
    CHECK(code(measured({1, 2, 3})) == "bad_routing: the popularity of 3 experts is given, but a layer has 4");
    CHECK(code(measured({1, 2, 3, -4})).starts_with("bad_routing: the popularity of expert 3 is -4"));
    CHECK(code(measured({1, 2, 3, std::numeric_limits<double>::infinity()})).starts_with("bad_routing"));
    CHECK(code(measured({0, 0, 0, 0})) ==
          "bad_routing: the popularity is above 0 for 0 experts, but a token chooses 2");
    CHECK(code(measured({0, 7, 0, 0})).starts_with("bad_routing: the popularity is above 0 for 1 experts"));
    ExpertRouting replicas;
    replicas.redundant = -1;
    CHECK(code(replicas).starts_with("bad_routing"));
    replicas.redundant = max_unequal_experts - 4;
    CHECK(code(replicas).empty());
    replicas.redundant = max_unequal_experts - 3;
    CHECK(code(replicas).starts_with("bad_routing"));
    CHECK(code(zipf(1), "X : bf16[B, D]\nY : bf16[B, D] = relu(X)\n").starts_with("bad_routing: this model has no"));
}
