#include <doctest/doctest.h>

#include "app/op_answers.hpp"
#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

constexpr const char* to_eight_experts =
    "X : bf16[T_X=8192, D=2048]; R : int32[T_X, A=8]; Xe : bf16[E_X=128, C=512, D] = dispatch[E,C](X, R)";
constexpr const char* to_four_experts =
    "X : bf16[T_X=8192, D=2048]; R : int32[T_X, A=4]; Xe : bf16[E_X=128, C=256, D] = dispatch[E,C](X, R)";

OpRequest request_for(const std::string& program, const std::string& slice, const std::string& mesh) {
    OpRequest request;
    request.program = program;
    request.mesh = {mesh};
    request.machines = {{slice, {}}};
    return request;
}

Prediction answer_to(const OpRequest& request) {
    auto answers = op_answers(request, {});
    REQUIRE_MESSAGE(answers.has_value(), (answers ? "" : answers.error().message));
    return std::move(answers->front());
}

Prediction answer_for(const std::string& program, const std::string& slice, const std::string& mesh) {
    return answer_to(request_for(program, slice, mesh));
}

/// Returns the probability that none of k choices among E = 128 experts falls into one of g groups: C(E - E/g, k) /
/// C(E, k).
double missed(int groups, int choices) {
    double none = 1;
    for (int i = 0; i < choices; ++i) none *= (128.0 - 128.0 / groups - i) / (128.0 - i);
    return none;
}

constexpr double token_bytes = 2048 * 2;

}  // namespace

TEST_CASE("a token that chooses experts uniformly goes once to each chip that has one of them") {
    const Prediction answer = answer_for(to_eight_experts, "h100-sxm:8", "X=8");
    REQUIRE(answer.uniform);
    // Eight choices fall on 8 (1 - C(112, 8) / C(128, 8)) = 5.3 chips, 7/8 of which are others; the lower bound assumes
    // one.
    const double copies = 8 * (1 - missed(8, 8));
    CHECK(answer.uniform->lower_s == approx(8192.0 / 8 * token_bytes * copies * 7 / 8 / 450e9).epsilon(1e-5));
    CHECK(answer.uniform->bound_by == "nvlink");
    CHECK(answer.analysis.total.bounds.lower < answer.uniform->lower_s);
}

TEST_CASE("from one node to another a token goes once for all chips there") {
    const Prediction answer = answer_for(to_four_experts, "h100-sxm:8x4", "X=32");
    REQUIRE(answer.uniform);
    // Four choices fall on 4 (1 - C(96, 4) / C(128, 4)) = 2.7 nodes, 3/4 of which are others.
    const double copies = 4 * (1 - missed(4, 4));
    CHECK(answer.uniform->lower_s == approx(8192.0 / 32 * token_bytes * copies * 3 / 4 / 50e9).epsilon(1e-5));
}

TEST_CASE("a program that sends nothing to experts has no uniform bound") {
    CHECK_FALSE(answer_for("A : bf16[B_X=64, D=64]; C : bf16[B, D] = A", "h100-sxm:8", "X=8").uniform);
}

TEST_CASE("tokens that are limited to groups of experts go to fewer nodes") {
    OpRequest request = request_for(to_four_experts, "h100-sxm:8x4", "X=32");
    request.expert_groups = "2/4";
    const Prediction answer = answer_to(request);
    REQUIRE(answer.uniform);
    // Two of the four nodes hold the token's groups; 2 (1 - C(32, 4) / C(64, 4)) of them hold one of its four experts.
    double none = 1;
    for (int i = 0; i < 4; ++i) none *= (32.0 - i) / (64.0 - i);
    const double copies = 2 * (1 - none);
    CHECK(answer.uniform->lower_s == approx(8192.0 / 32 * token_bytes * copies * 3 / 4 / 50e9).epsilon(1e-5));
}

TEST_CASE("groups of experts that cannot be are refused") {
    const auto refused = [](const std::string& groups, const std::string& program) {
        OpRequest request = request_for(program, "h100-sxm:8x4", "X=32");
        request.expert_groups = groups;
        const auto answers = op_answers(request, {});
        return answers ? std::string() : answers.error().message;
    };
    CHECK(refused("4", to_four_experts) == "--expert-groups: `4` does not have the form CHOSEN/GROUPS");
    CHECK(refused("x/8", to_four_experts) == "--expert-groups: `x/8` does not have the form CHOSEN/GROUPS");
    CHECK(refused("5/4", to_four_experts) ==
          "5 of 4 groups of experts: a token chooses at least one and at most all of them");
    CHECK(refused("1/3", to_four_experts) == "1 of 3 groups of experts: 128 experts cannot be divided equally");
    CHECK(refused("1/64", to_four_experts) == "1 of 64 groups of experts: only 2 experts remain for 4 choices");
    CHECK(refused("1/2", "A : bf16[B_X=64, D=64]; C : bf16[B, D] = A") ==
          "1 of 2 groups of experts: no tokens choose experts (`dispatch`) in this program");
}
