#include "predict/train/expected_step.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "base/approx_test.hpp"
#include "predict/compare/measured_training.hpp"
#include "predict/compare/training_row_test.hpp"

using namespace roofline::core;

namespace {

Comparison priced(std::int64_t data, std::int64_t tensor, const std::string& sharding, const std::string& source = {}) {
    MeasuredTraining row = two_layers(data, tensor);
    row.sharding = sharding;
    row.source = source;
    auto trainings = MeasuredTrainingRuns::make(*MeasuredSystems::make(), Calibrations::built_in());
    REQUIRE(trainings);
    auto compared = trainings->compare(row);
    REQUIRE_MESSAGE(compared, to_text(compared.error()));
    return *compared;
}

}  // namespace

TEST_CASE("the parts of a step, and its expected time by the model of steps") {
    const auto model = built_in_step_model();
    REQUIRE(model);
    const Comparison alone = priced(1, 1, "none");
    REQUIRE(alone.parts);
    CHECK(alone.parts->kernels_s > 0);
    CHECK(alone.parts->narrow_s == 0);
    // in each of two layers about ten kernels forward and twenty backward, and an update per tensor
    CHECK(alone.parts->launches > 60);
    CHECK(alone.parts->launches < 200);
    CHECK(alone.parts->overlappable_s == 0);
    CHECK(alone.parts->exchanged_s == 0);
    REQUIRE(alone.prediction.expected_s);
    // an H100 has 989 TFLOP/s at 700 W
    CHECK(alone.parts->flops_per_joule == approx(989.4e12 / 700).epsilon(1e-3));
    CHECK(!alone.parts->pytorch);
    const double device = std::cbrt(989.4 / 700) * model->compute * alone.parts->kernels_s;
    const double host = model->launch_s * alone.parts->launches;
    CHECK(*alone.prediction.expected_s ==
          approx(std::pow(std::pow(device, model->overlap) + std::pow(host, model->overlap), 1 / model->overlap)));
    // a dense model in 16 bits has the error of its class, and a larger one if kernels are extrapolated
    CHECK(alone.prediction.expected_error >= class_of(*model, *alone.parts).error);
    CHECK(class_of(*model, *alone.parts).error == 0.0822);
    CHECK(*alone.prediction.expected_s > alone.prediction.lower_s);
}

TEST_CASE("a step whose scores lie in memory has kernels for them, and takes longer") {
    const Comparison fused = priced(1, 1, "none");
    const Comparison stored = priced(1, 1, "none", "VIA-Research/vTrain (MICRO-57)");
    REQUIRE(fused.parts);
    REQUIRE(stored.parts);
    // in each of two layers the forward pass has a matmul, a softmax, a dropout and a matmul instead of one kernel
    CHECK(stored.parts->launches >= fused.parts->launches + 2 * 3);
    // the memory of an H100 transfers the scores of 8 sequences with 16 heads of 1024 x 1024 in 16 bits at least ten
    // times
    const double scores = 2.0 * 8 * 16 * 1024 * 1024;
    CHECK(stored.parts->kernels_s > fused.parts->kernels_s + 2 * 10 * scores / 3.35e12);
    CHECK(stored.prediction.lower_s > fused.prediction.lower_s);
    CHECK(stored.parts->in_turn);
}

// Two layers of 12 x 1024^2 parameters and an embedding of 50304 + 1024 rows, in 16 bits: an all-reduce over 8 chips
// sends 7/4 of these bytes at 450 GB/s.
TEST_CASE("gradients go in one bucket, whatever the number of parameters") {
    const Comparison data = priced(8, 1, "none");
    REQUIRE(data.parts);
    const double bytes = 2.0 * (2 * 12 * 1024 * 1024 + (50304 + 1024) * 1024);
    const double wires = 7.0 / 4 * bytes / 450e9;
    CAPTURE(data.parts->overlappable_s / wires);
    CHECK(data.parts->overlappable_s > wires);
    CHECK(data.parts->overlappable_s < 1.3 * wires);
}

TEST_CASE("collectives of gradients and sharded weights overlap, those of activations do not") {
    const Comparison data = priced(8, 1, "zero1");
    REQUIRE(data.parts);
    CHECK(data.parts->overlappable_s + data.parts->overlappable_wire_s > 0);
    CHECK(data.parts->exchanged_s + data.parts->exchanged_wire_s == 0);
    const Comparison tensor = priced(1, 8, "none");
    REQUIRE(tensor.parts);
    CHECK(tensor.parts->overlappable_s + tensor.parts->overlappable_wire_s == 0);
    CHECK(tensor.parts->exchanged_s + tensor.parts->exchanged_wire_s > 0);
}

TEST_CASE("matmuls in fp8 are classified by the precision in which matrix units accumulate") {
    const auto parts_on = [](const std::string& system) {
        MeasuredTraining row = two_layers(1);
        row.dtype = "fp8";
        row.system = system;
        const auto compared =
            MeasuredTrainingRuns::make(*MeasuredSystems::make(), Calibrations::built_in())->compare(row);
        REQUIRE_MESSAGE(compared, to_text(compared.error()));
        REQUIRE(compared->parts);
        return *compared->parts;
    };
    const StepParts hopper = parts_on("h100-sxm");  // it accumulates in 14 bits of an f32
    CHECK(hopper.promoted_s > 0);
    CHECK(hopper.narrow_s == 0);
    const StepParts blackwell = parts_on("b200-sxm");
    CHECK(blackwell.promoted_s == 0);
    CHECK(blackwell.narrow_s > 0);
}

// An A100 multiplies fp8 in its units for 16 bits, so that a step takes no less time than in bf16. A time taken from
// machines with units for fp8 would be shorter.
TEST_CASE("matmuls in fp8 are not faster on a machine without units for fp8") {
    const auto kernels_s = [](const std::string& dtype) {
        MeasuredTraining row = two_layers(1);
        row.dtype = dtype;
        row.system = "a100-sxm4-80";
        const auto compared =
            MeasuredTrainingRuns::make(*MeasuredSystems::make(), Calibrations::built_in())->compare(row);
        REQUIRE_MESSAGE(compared, to_text(compared.error()));
        REQUIRE(compared->parts);
        CHECK(compared->parts->narrow_s == 0);
        return compared->parts->kernels_s;
    };
    CHECK(kernels_s("fp8") >= kernels_s("bf16"));
}

TEST_CASE("collectives overlap where the framework runs them together with matmuls, those of other axes do not") {
    const Comparison waited = priced(2, 4, "zero1");
    const Comparison beside = priced(2, 4, "zero1", "NVIDIA-NeMo/Megatron-Bridge");
    REQUIRE(waited.parts);
    REQUIRE(beside.parts);
    CHECK(beside.parts->exchanged_s == 0);
    CHECK(beside.parts->overlappable_s == approx(waited.parts->overlappable_s + waited.parts->exchanged_s));
    CHECK(*beside.prediction.expected_s < *waited.prediction.expected_s);
    CHECK(beside.prediction.lower_s == waited.prediction.lower_s);
}
