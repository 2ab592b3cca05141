#include "report/train/step_expectation.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

/// 1 s of kernels, 0.1 s of exposed communication and 0.4 s of communication over replicas, with factors of 1.5 and
/// 0.25.
StepTimes step_with(double launches) {
    StepTimes times;
    times.parts = StepParts{1, 0, 0, launches, 0.4, 0.1, 0, 0, 8e12};
    times.step_model = StepModel{1.5, 1, 1, 50e-6, 4, 1.2, 0.25, 0.5, 0.14, 1234, 7};
    times.expected = seconds_of(times.step_model, *times.parts);
    return times;
}

}  // namespace

TEST_CASE("an expected step is derived with its numbers") {
    const std::string text = step_derivation(step_with(2000));
    CHECK(text.find("the device: 3 x 1 s of kernels by themselves + 100 ms of exposed collectives = 3.1 s\n") !=
          std::string::npos);
    CHECK(text.find("the host: 2,000 launches of 50 us = 100 ms; combined by the norm of order 4\n") !=
          std::string::npos);
    CHECK(text.find("exposed: 0.25 x 400 ms of collectives that overlap with kernels = 100 ms\n") != std::string::npos);
    CHECK(text.find("the factors include 2, the cube root of the chip's 8 TFLOP/s per watt") != std::string::npos);
    CHECK(text.find("together 3.2 s") != std::string::npos);
    CHECK(text.find("1,234 published runs of 7") != std::string::npos);
    CHECK(text.find("on held-out publishers 14 %") != std::string::npos);
    CHECK(step_derivation(StepTimes{}).empty());
}

TEST_CASE("a step that waits for its launches says so") {
    CHECK(host_text(step_with(2000)).empty());
    CHECK(host_text(StepTimes{}).empty());
    CHECK(host_text(step_with(100000))
              .starts_with("The step is launch-bound: 100,000 launches of 50 us take 5 s, longer"));
}

TEST_CASE("a step that is one program is derived without launches") {
    StepTimes times = step_with(2000);
    times.parts->compiled = true;
    times.step_model.compiled = {1.5, 0.5, 2, {}};
    times.step_model.classes = {{false, true, false, 0.07, 51, 17}};
    times.expected = seconds_of(times.step_model, *times.parts);
    const std::string text = step_derivation(times);
    CHECK(text.find("the device: 1.5 x 1 s of kernels by themselves = 1.5 s\n") != std::string::npos);
    CHECK(text.find("collectives: 500 ms of measured collectives = 500 ms; combined by the norm of order 2\n") !=
          std::string::npos);
    CHECK(text.find("together 1.58 s") != std::string::npos);
    CHECK(host_text(times).empty());
    times.expected_error = 0.07;
    CHECK(error_text(times).starts_with(
        "mean error 7 %: dense models in 16 bits, 51 runs of 17 pairs of model and chip"));
}
