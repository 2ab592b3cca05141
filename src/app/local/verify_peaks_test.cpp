#include "app/local/verify_peaks.hpp"

#include <doctest/doctest.h>

#include "measure/run/cpu_device.hpp"

using namespace roofline::core;

TEST_CASE("a peak is verified from 90 % on, and not if a matmul exceeds it") {
    CHECK(verdict_of({0.95}) == "verified");
    CHECK(verdict_of({0.90, 0.8, true}) == "verified");
    CHECK(verdict_of({1.005}) == "verified");
    CHECK(verdict_of({1.1}).find("too low") != std::string::npos);
    CHECK(verdict_of({0.5, 0.99, true}).find("disturbed the matmul") != std::string::npos);
    CHECK(verdict_of({0.5, 0.99, false, {"", "int8 runs without a library"}}).ends_with("int8 runs without a library"));
    CHECK(verdict_of({0.5}).find("do not reach more") != std::string::npos);
    CHECK(verdict_of({0.8, 0.85, true}).find("85 % of the peak") != std::string::npos);
}

TEST_CASE("a matmul takes about as long as a sample of its peak") {
    // 2 * 1024^3 operations in 5 ms; very slow and very fast machines are clamped.
    CHECK(size_of_sample(2.0 * 1024 * 1024 * 1024 / 0.005) == 1024);
    CHECK(size_of_sample(1e6) == 256);
    CHECK(size_of_sample(1e18) == 16384);
}

TEST_CASE("matmuls run in the dtypes that have a rate, and the machine's notes contain the result") {
    Machine machine;
    for (const Dtype dtype : {Dtype::f32, Dtype::fp4}) {
        Peak peak;
        peak.dtype = dtype;
        peak.accumulator = Dtype::f32;
        peak.rate.value = FlopRate{1};  // any matmul exceeds it
        machine.peaks.push_back(peak);
    }
    auto device = make_cpu_device({1, false});
    REQUIRE(device);
    Progress progress;
    bool asked = false;
    const auto results = verify_peaks(machine, **device, Effort::quick, progress, [&](Dtype) -> Result<double> {
        asked = true;
        return 1.0;
    });
    REQUIRE(results);
    REQUIRE(results->size() == 1);
    CHECK(results->front().dtype == Dtype::f32);
    CHECK_FALSE(results->front().verified);
    CHECK_FALSE(asked);  // the rate is queried only for a matmul that stays below the peak
    CHECK(machine.peaks[0].rate.note.find("too low") != std::string::npos);
    CHECK(machine.peaks[1].rate.note.empty());
}

TEST_CASE("a rate that no matmul came near does not have confidence A") {
    Machine machine;
    const auto add = [&](Unit unit, Dtype dtype, double rate, char confidence) {
        Peak peak;
        peak.unit = unit;
        peak.dtype = dtype;
        peak.rate.value = FlopRate{rate};
        peak.rate.confidence = confidence;
        machine.peaks.push_back(peak);
    };
    add(Unit::matmul, Dtype::f32, 100e9, 'A');
    add(Unit::vector, Dtype::f32, 100e9, 'A');
    add(Unit::matmul, Dtype::bf16, 800e9, 'A');
    add(Unit::vector, Dtype::f64, 50e9, 'A');
    add(Unit::matmul, Dtype::int8, 900e9, 'C');
    PeakVerification f32;
    f32.dtype = Dtype::f32;
    f32.flops_per_s = 95e9;
    f32.verified = true;
    PeakVerification bf16;
    bf16.dtype = Dtype::bf16;
    bf16.flops_per_s = 300e9;
    downgrade_unverified(machine, {f32, bf16});
    std::string confidences;
    for (const Peak& peak : machine.peaks) confidences += peak.rate.confidence;
    CHECK(confidences == "AABBC");
}
