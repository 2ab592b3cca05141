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

TEST_CASE("hosts with PCIe of different rates are left out in turn") {
    // cards on twice the rate reach half of the part of it, so that they take as long for the bytes on the wire
    std::vector<CollectiveSample> samples = table("a");
    append(samples, table("b", 200e9));
    for (CollectiveSample& each : samples) {
        each.link.topology = "pcie_tree";
        const double wire_s = each.timed.point.wire_s;
        each.timed.time_s = wire_s / (each.machine == "a" ? 0.5 : 0.25);
    }
    const CollectiveFit fit = fit_collectives(samples);
    REQUIRE(fit.calibrations.size() == 2);
    const FitErrors& a = fit.calibrations[0].models.front().errors;
    const FitErrors& b = fit.calibrations[1].models.front().errors;
    REQUIRE(a.relative);
    REQUIRE(b.relative);
    CHECK(*a.relative ==
          approx(1).epsilon(0.01));  // half of the rate where b reaches a quarter, and the other way round
    CHECK(*b.relative == approx(0.5).epsilon(0.01));
    CHECK_FALSE(a.far);
}

namespace {

/// A permute on a torus: 5 us, a microsecond of its hop, and 80 % of the link's rate.
CollectiveSample on_torus(std::string machine, double bytes, double rate) {
    CollectiveSample result = sample(std::move(machine), 4, bytes, rate);
    result.key = {"s", "ici", CollectiveKind::permute, "xla", "", ""};
    result.link.topology = "torus3d";
    result.timed.point.wire_s = bytes / rate;
    result.timed.point.latency_s = 1e-6;
    result.timed.time_s = 6e-6 + bytes / rate / 0.8;
    return result;
}

}  // namespace

TEST_CASE("short series on tori share a model, whose error is that of machines left out") {
    std::vector<CollectiveSample> samples{on_torus("a", 1e6, 100e9), on_torus("a", 64e6, 100e9),
                                          on_torus("b", 1e6, 50e9), on_torus("b", 64e6, 50e9)};
    const CollectiveFit fit = fit_collectives(samples);
    REQUIRE(fit.calibrations.size() == 2);
    CHECK(fit.rows == 4);
    CHECK(fit.too_few == 0);
    for (const Calibration& calibration : fit.calibrations) {
        REQUIRE(calibration.models.size() == 1);
        const CalibratedCollective& model = calibration.models.front();
        CHECK(model.rows == 4);
        CHECK(model.errors.sizes < 0.001);
        REQUIRE(model.model.shared.segments.size() == 1);
        CHECK(model.model.shared.segments.front().base_s == approx(5e-6).epsilon(0.001));
        CHECK(model.model.shared.segments.front().link == approx(0.8).epsilon(0.001));
        CHECK(model.model.shared.steps == StepCount::hops);
    }
    CHECK(fit.calibrations[1].models.front().link.bytes_per_s == 50e9);
    // b takes twice as long as predicted from a: half, and seen from a it is 100 %
    samples[2].timed.time_s *= 2;
    samples[3].timed.time_s *= 2;
    const CollectiveFit off = fit_collectives(samples);
    CHECK(off.calibrations[0].models.front().errors.sizes == approx(0.75).epsilon(0.1));
    // one machine alone tells nothing of others
    samples.resize(2);
    CHECK(fit_collectives(samples).calibrations.empty());
}

TEST_CASE("the error of a model of a network between nodes is that on measurements of other networks") {
    std::vector<CollectiveSample> samples;
    const auto add = [&](const std::string& machine, const std::string& system, double factor) {
        for (CollectiveSample& each : table(machine)) {
            each.key.system = system;
            each.key.tiers = "nvlink+ib";
            each.timed.time_s *= factor;
            samples.push_back(each);
        }
    };
    add("a", "fast", 1);
    add("a", "slow", 4);
    add("b", "fast too", 1);
    const CollectiveFit fit = fit_collectives(samples);
    const auto elsewhere = [&](const std::string& system) {
        for (const Calibration& calibration : fit.calibrations) {
            for (const CalibratedCollective& model : calibration.models) {
                if (model.key.system == system) return model.errors.elsewhere.value_or(0);
            }
        }
        return 0.0;
    };
    // against `slow` 75 % too fast and against `fast too` right; the other way round four times as long as both
    CHECK(elsewhere("fast") == approx(0.375).epsilon(0.01));
    CHECK(elsewhere("slow") == approx(3).epsilon(0.01));
    CHECK_FALSE(fit_collectives(table("m")).calibrations.front().models.front().errors.elsewhere);
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
