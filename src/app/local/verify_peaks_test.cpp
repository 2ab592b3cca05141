#include "app/local/verify_peaks.hpp"

#include <doctest/doctest.h>

#include "measure/run/cpu_device.hpp"

using namespace roofline;

TEST_CASE("a roof is verified from nine tenths of it, and not when something exceeds it") {
    CHECK(verdict_of(0.95, false, {}) == "verified");
    CHECK(verdict_of(0.90, true, {}) == "verified");
    CHECK(verdict_of(1.005, false, {}) == "verified");
    CHECK(verdict_of(1.1, false, {}).find("too low") != std::string::npos);
    CHECK(verdict_of(0.5, true, {}).find("to itself") != std::string::npos);
    CHECK(verdict_of(0.5, false, {"", "int8 runs without a library"}) == "not verified: int8 runs without a library");
    CHECK(verdict_of(0.5, false, {}).find("library") != std::string::npos);
}

TEST_CASE("products run in the dtypes that have a rate, and the machine's notes say what came of it") {
    Machine machine;
    for (const Dtype dtype : {Dtype::f32, Dtype::fp4}) {
        Peak peak;
        peak.dtype = dtype;
        peak.accumulator = Dtype::f32;
        peak.rate.value = FlopRate{1};  // any product exceeds it
        machine.peaks.push_back(peak);
    }
    auto device = make_cpu_device({1, false});
    REQUIRE(device);
    Progress progress;
    const auto results = verify_peaks(machine, **device, Effort::quick, progress);
    REQUIRE(results);
    REQUIRE(results->size() == 1);
    CHECK(results->front().dtype == Dtype::f32);
    CHECK_FALSE(results->front().verified);
    CHECK(machine.peaks[0].rate.note.find("too low") != std::string::npos);
    CHECK(machine.peaks[1].rate.note.empty());
}
