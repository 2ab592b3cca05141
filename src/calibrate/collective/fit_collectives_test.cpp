#include "calibrate/collective/fit_collectives.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace roofline::core;

namespace {

/// An all-gather over ports of `rate`: 8 us, 1 us per step, and three quarters of the rate.
CollectiveSample sample(std::string machine, std::int64_t members, double bytes, double rate = 100e9) {
    const auto n = static_cast<double>(members);
    CollectiveSample result;
    result.machine = std::move(machine);
    result.key = {"s", "nvlink", CollectiveKind::all_gather, "nccl 9.1", "", ""};
    result.link = {"switch", 8, rate};
    result.timed.point = {members, bytes, bytes * (n - 1) / n / rate, bytes / rate};
    result.timed.time_s = 8e-6 + 1e-6 * (n - 2) + result.timed.point.wire_s / 0.75;
    result.lower_s = result.timed.point.wire_s;
    result.source = "invented";
    return result;
}

std::vector<CollectiveSample> table(const std::string& machine, double rate = 100e9) {
    std::vector<CollectiveSample> samples;
    for (const std::int64_t members : {2, 4, 8}) {
        for (double bytes = 512; bytes < 1e9; bytes *= 2) samples.push_back(sample(machine, members, bytes, rate));
    }
    return samples;
}

void append(std::vector<CollectiveSample>& samples, std::vector<CollectiveSample> more) {
    samples.insert(samples.end(), more.begin(), more.end());
}

}  // namespace

TEST_CASE("rows that follow the model are fitted and held out without error") {
    const CollectiveFit fit = fit_collectives(table("m"));
    REQUIRE(fit.calibrations.size() == 1);
    CHECK(fit.calibrations.front().machine == "m");
    REQUIRE(fit.calibrations.front().models.size() == 1);
    const CalibratedCollective& model = fit.calibrations.front().models.front();
    CHECK(model.rows == 63);
    CHECK(model.members == std::vector<std::int64_t>{2, 4, 8});
    CHECK(model.least_bytes == 512);
    CHECK(model.most_bytes == 512 * std::pow(2, 20));
    CHECK(model.errors.fitted < 0.001);
    CHECK(model.errors.sizes < 0.001);
    REQUIRE(model.errors.members);
    CHECK(*model.errors.members < 0.001);
    CHECK_FALSE(model.errors.relative);
    CHECK_FALSE(model.errors.far);
}

TEST_CASE("the order of rows does not matter, and what is published twice counts once") {
    std::vector<CollectiveSample> samples = table("m");
    append(samples, table("m"));
    std::reverse(samples.begin(), samples.end());
    const CollectiveFit fit = fit_collectives(samples);
    CHECK(fit.duplicates == 63);
    CHECK(fit.rows == 63);
    CHECK(calibration_text(fit.calibrations.front()) ==
          calibration_text(fit_collectives(table("m")).calibrations.front()));
}

TEST_CASE("wrong units, times that no wire allows and sizes that cannot be are left out") {
    std::vector<CollectiveSample> samples = table("m");
    samples[5].timed.time_s *= 1000;  // milliseconds instead of microseconds
    samples[30].timed.time_s *= 1000;
    samples[20].timed.time_s /= 10;  // a gigabyte: faster than the link
    samples[40].timed.point.buffer_bytes = 1e300;
    samples[50].timed.time_s = 0;
    const CollectiveFit fit = fit_collectives(samples);
    CHECK(fit.left_out == 5);
    CHECK(fit.rows == 58);
    CHECK(fit.calibrations.front().models.front().left_out == 3);
    CHECK(fit.calibrations.front().models.front().errors.fitted < 0.001);
}

TEST_CASE("a wrong unit is found among sparse sizes too") {
    std::vector<CollectiveSample> samples;
    for (const std::int64_t members : {2, 4, 8}) {
        for (double bytes = 512; bytes < 1e9; bytes *= 16) samples.push_back(sample("m", members, bytes));
    }
    samples[4].timed.time_s *= 1000;
    const CollectiveFit fit = fit_collectives(samples);
    CHECK(fit.left_out == 1);
    CHECK(fit.calibrations.front().models.front().errors.fitted < 0.001);
}

TEST_CASE("short series have no model; nothing has none at all") {
    std::vector<CollectiveSample> samples = table("m");
    samples.resize(7);
    const CollectiveFit fit = fit_collectives(samples);
    CHECK(fit.calibrations.empty());
    CHECK(fit.too_few == 7);
    CHECK(fit_collectives({}).calibrations.empty());
}

TEST_CASE("machines, software and variants have models of their own") {
    std::vector<CollectiveSample> samples = table("b");
    append(samples, table("a"));
    for (CollectiveSample& each : table("a")) {
        each.key.software = "nccl 9.2";
        each.timed.time_s *= 2;
        samples.push_back(each);
    }
    const CollectiveFit fit = fit_collectives(samples);
    REQUIRE(fit.calibrations.size() == 2);
    CHECK(fit.calibrations[0].machine == "a");
    REQUIRE(fit.calibrations[0].models.size() == 2);
    CHECK(fit.calibrations[0].models[0].key.software == "nccl 9.1");
    CHECK(fit.calibrations[0].models[1].errors.fitted < 0.001);
    CHECK(fit.calibrations[1].models.size() == 1);
}

TEST_CASE("machines left out show what carrying over costs") {
    // one machine with the same rate and times, one with half the rate and the same fractions
    std::vector<CollectiveSample> samples = table("a");
    append(samples, table("b"));
    append(samples, table("slow", 50e9));
    const CollectiveFit fit = fit_collectives(samples);
    REQUIRE(fit.calibrations.size() == 3);
    const FitErrors& a = fit.calibrations[0].models.front().errors;
    REQUIRE(a.relative);
    CHECK(*a.relative < 0.001);
    REQUIRE(a.far);
    CHECK(*a.far < 0.001);
    CHECK_FALSE(fit.calibrations[2].models.front().errors.relative);
    // b takes twice as long as predicted from a: the error is half, and seen from a it is 100 %
    for (CollectiveSample& each : samples) {
        if (each.machine == "b") each.timed.time_s *= 2;
    }
    const CollectiveFit off = fit_collectives(samples);
    CHECK(*off.calibrations[0].models.front().errors.relative == approx(1).epsilon(0.01));
    CHECK(*off.calibrations[1].models.front().errors.relative == approx(0.5).epsilon(0.01));
}

TEST_CASE("counts that share nothing get curves of their own") {
    std::vector<CollectiveSample> samples = table("m");
    for (CollectiveSample& each : samples) {  // four members communicate through a host bridge at a tenth of the rate
        if (each.timed.point.members == 4) each.timed.time_s = 3e-6 + each.timed.point.wire_s / 0.075;
    }
    const CollectiveFit fit = fit_collectives(samples);
    const CalibratedCollective& model = fit.calibrations.front().models.front();
    REQUIRE(model.model.counted.size() == 3);
    CHECK(model.model.counted[1].members == 4);
    CHECK(model.errors.fitted < 0.001);
    CHECK(model.errors.sizes < 0.001);
}
