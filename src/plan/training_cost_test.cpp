#include "plan/training_cost.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "model/models_test.hpp"

namespace roofline::core {

// Scaling book, chapter 6: a model of 70e9 parameters and 15e12 tokens: 6.3e24 FLOPs, 435 years on one TPU v5p at its
// 459 TFLOP/s, and 44 days on 8960 of them at 40 %.
TEST_CASE("days of a training run follow from tokens, chips and utilization") {
    const TrainingDemand one{6 * 70e9, 4.59e14, 1};
    CHECK(one.seconds(15e12, 1) / (365 * 86400.0) == approx(435).epsilon(0.005));
    const TrainingDemand pod{6 * 70e9, 4.59e14, 8960};
    const double seconds = pod.seconds(15e12, 0.4);
    CHECK(seconds / 86400 == approx(44).epsilon(0.01));
    CHECK(pod.utilization(15e12, seconds) == approx(0.4));

    // At 2 dollars per chip and hour.
    const TrainingCost cost = training_cost(pod, 15'000'000'000'000, 15e12 / seconds, Price{2.0 / 3600});
    CHECK(cost.flops == approx(6.3e24));
    CHECK(cost.seconds == approx(seconds));
    CHECK(cost.chip_hours == approx(8960 * seconds / 3600));
    CHECK(*cost.usd == approx(2 * cost.chip_hours));
    CHECK_FALSE(training_cost(pod, 1, 1, std::nullopt).usd);
}

// 6 for each of the parameters except the embedding's: 70,553,706,496 - 128256 * 8192; attention at 4096 tokens,
// causal: 80 layers of 2 * 4096 * 64 * 128 forward, three times that in training.
TEST_CASE("FLOPs per token are those of multiplying parameters and of attention") {
    const auto counts = count_model(model_named("llama-3.1-70b", 4096));
    REQUIRE(counts);
    // Scales of norms do not multiply: 161 of 8192.
    const double multiplying = 70'553'706'496.0 - 128256.0 * 8192 - 161 * 8192;
    CHECK(training_flops_per_token(*counts) == approx(6 * multiplying + 3 * 80 * 2.0 * 4096 * 8192));
}

}  // namespace roofline::core
