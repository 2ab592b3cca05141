#include "predict/profile/recomputation.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "predict/profile/profile_answer.hpp"

using namespace roofline::core;

namespace {

std::uint32_t add(RecordedProfile& profile, const char* name, std::int64_t start_ns, std::int64_t end_ns) {
    profile.calls.push_back({start_ns, end_ns - start_ns, profile.texts.add(name), 7});
    return static_cast<std::uint32_t>(profile.calls.size() - 1);
}

bool again(const RecordedProfile& profile, std::uint32_t call) {
    DeviceEvent event;
    event.call = call;
    return Recomputation(profile).has(event);
}

}  // namespace

TEST_CASE("recomputation: what runs in a node of torch.utils.checkpoint, but not in the nodes that it has inside") {
    RecordedProfile profile;
    const auto forward = add(profile, "aten::mm", 0, 10);
    add(profile, "autograd::engine::evaluate_function: CheckpointFunctionBackward", 100, 200);
    add(profile, "CheckpointFunctionBackward", 101, 199);
    const auto repeated = add(profile, "aten::mm", 110, 120);
    add(profile, "autograd::engine::evaluate_function: MmBackward0", 150, 170);
    const auto gradient = add(profile, "aten::mm", 155, 165);
    const auto after = add(profile, "aten::add_", 201, 210);
    CHECK_FALSE(again(profile, forward));
    CHECK(again(profile, repeated));
    CHECK_FALSE(again(profile, gradient));
    CHECK_FALSE(again(profile, after));
}

TEST_CASE("recomputation: a node that first runs what only the forward pass has") {
    RecordedProfile profile;
    add(profile, "autograd::engine::evaluate_function: MulBackward0", 100, 200);
    add(profile, "MulBackward0", 101, 199);
    const auto norm = add(profile, "aten::mul", 105, 110);
    add(profile, "aten::linear", 110, 120);
    const auto product = add(profile, "aten::mm", 112, 118);
    const auto gradient = add(profile, "aten::mul", 130, 140);
    add(profile, "autograd::engine::evaluate_function: MmBackward0", 300, 400);
    const auto other = add(profile, "aten::mm", 310, 320);
    CHECK(again(profile, norm));
    CHECK(again(profile, product));
    CHECK_FALSE(again(profile, gradient));
    CHECK_FALSE(again(profile, other));
}

TEST_CASE("recomputation: instructions of XLA say so themselves") {
    RecordedProfile profile;
    EventDetail detail;
    detail.scope = profile.texts.add("jit(step)/transpose(jvp(layer))/rematted_computation/dot_general");
    profile.details.push_back(detail);
    detail.scope = profile.texts.add("jit(step)/transpose(jvp(layer))/dot_general");
    profile.details.push_back(detail);
    detail.instruction = profile.texts.add("fusion.3.remat2");
    profile.details.push_back(detail);
    const Recomputation recomputation(profile);
    const auto has = [&](std::uint32_t number) {
        DeviceEvent event;
        event.detail = number;
        return recomputation.has(event);
    };
    CHECK(has(0));
    CHECK_FALSE(has(1));
    CHECK(has(2));
}

// Twice the same product of 200 us: in the forward pass, and once more before its gradients.
TEST_CASE("recomputation is a cause of its own, and causes add up to the step") {
    RecordedProfile profile;
    const auto run = [&](std::uint32_t call, std::int64_t start_ns) {
        profile.calls[call].shapes = profile.texts.add("[[8192,4096],[4096,1792]]");
        profile.calls[call].types = profile.texts.add(R"(["c10::BFloat16","c10::BFloat16"])");
        DeviceEvent event;
        event.name = profile.texts.add("gemm");
        event.call = call;
        event.start_ns = start_ns;
        event.duration_ns = 200'000;
        profile.events.push_back(event);
    };
    const auto forward = add(profile, "aten::mm", 0, 10);
    add(profile, "autograd::engine::evaluate_function: CheckpointFunctionBackward", 100, 200);
    const auto repeated = add(profile, "aten::mm", 110, 120);
    run(forward, 0);
    run(repeated, 200'000);
    const auto answer = answer_profiles({profile}, {{find_machine("h100-sxm").value(), ""}, ""},
                                        Calibrations(std::vector<Calibration>{}));
    REQUIRE(answer);
    REQUIRE(answer->rows.size() == 2);
    CHECK(answer->rows[0].recomputed != answer->rows[1].recomputed);
    CHECK(answer->recomputed_s == approx(200e-6));
    CHECK(answer->should_s == approx(122.5e-6).epsilon(0.002));  // 120.26 GFLOP at 989.4 TFLOP/s, and a launch
    REQUIRE(answer->causes.size() == 2);
    CHECK(answer->causes[0].name == "matmul kernels slower than expected");
    CHECK(answer->causes[1].name == "the forward pass again in the backward pass (recomputation)");
    CHECK(answer->causes[1].seconds == approx(200e-6));
    const double above = std::accumulate(answer->causes.begin(), answer->causes.end(), 0.0,
                                         [](double sum, const ProfileCause& cause) { return sum + cause.seconds; });
    CHECK(answer->should_s + answer->unknown_s + above == approx(answer->step.total));
}
