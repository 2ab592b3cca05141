#include "predict/profile/profile_measurements.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"

using namespace roofline::core;

namespace {

/// Adds executions of one call of PyTorch, one after another.
void add_runs(RecordedProfile& profile, const char* name, const char* shapes, std::vector<std::int64_t> durations_ns) {
    for (const std::int64_t duration_ns : durations_ns) {
        const std::int64_t start_ns = profile.events.empty() ? 0 : profile.events.back().end_ns();
        DeviceEvent event;
        event.name = profile.texts.add("kernel");
        event.start_ns = start_ns;
        event.duration_ns = duration_ns;
        event.call = static_cast<std::uint32_t>(profile.calls.size());
        profile.calls.push_back({start_ns, 1, profile.texts.add(name), 0, profile.texts.add(shapes),
                                 profile.texts.add(R"(["c10::BFloat16","c10::BFloat16"])"), no_index});
        profile.events.push_back(event);
    }
}

void add_exchanges(RecordedProfile& profile, std::vector<std::int64_t> durations_ns) {
    EventDetail detail;
    detail.collective = CollectiveKind::all_reduce;
    detail.dtype = Dtype::bf16;
    detail.group = 8;
    profile.details.push_back(detail);
    for (const std::int64_t duration_ns : durations_ns) {
        DeviceEvent event;
        event.name = profile.texts.add("ncclDevKernel_AllReduce");
        event.start_ns = profile.events.empty() ? 0 : profile.events.back().end_ns();
        event.duration_ns = duration_ns;
        event.work = DeviceWork::collective;
        event.bytes = 67'108'864;
        event.detail = 0;
        profile.events.push_back(event);
    }
}

SystemOverride h100() { return {find_machine("h100-sxm").value(), "8"}; }

std::shared_ptr<Calibrations> nothing() { return std::make_shared<Calibrations>(std::vector<Calibration>{}); }

}  // namespace

// 2 8192 4096 1792 FLOPs take 121.5 us at the 989.4 TFLOP/s of the data sheet.
TEST_CASE("recorded operations: one row each, with the median of its executions") {
    RecordedProfile profile;
    profile.tool = "PyTorch";
    add_runs(profile, "aten::mm", "[[8192,4096],[4096,1792]]", {210'000, 900'000, 200'000, 220'000});
    add_runs(profile, "aten::add", "[[8192,4096],[8192,4096]]", {100'000});
    add_runs(profile, "my::own", "[[8192,4096]]", {30'000, 30'000});
    add_exchanges(profile, {700'000, 400'000, 500'000});
    auto validation = compare_recorded(profile, h100(), nothing());
    REQUIRE(validation);
    complete(*validation);
    REQUIRE(validation->rows.size() == 3);
    const Comparison& exchange = validation->rows[0];  // which takes longest in total
    CHECK(exchange.operation == "all_reduce");
    CHECK(exchange.devices == 8);
    CHECK(exchange.measured_s == approx(400e-6));  // the one that did not wait
    const Comparison& product = validation->rows[1];
    CHECK(product.operation == "matmul");
    CHECK(product.shape == "aten::mm [8192,4096] [4096,1792]");
    CHECK(product.dtype == "bf16");
    CHECK(product.measured_s == approx(215e-6));  // between 210 and 220
    CHECK(product.prediction.lower_s == approx(121.5e-6).epsilon(0.002));
    CHECK(validation->rows[2].measured_s == approx(100e-6));
    REQUIRE(validation->skipped.size() == 1);
    CHECK(validation->skipped[0].reason == "my::own is not known");
    CHECK(validation->skipped[0].rows == 1);
    CHECK_FALSE(validation->failed());
    // 1530 + 100 + 1600 of 3290 us
    CHECK(validation->notes[0].find("98.2 % of the time") != std::string::npos);
}

// The sum of two arrays of 2 MB is 6 MB: 1.9 us at 3.35 TB/s. The L2 cache of 50 MB can hold them.
TEST_CASE("recorded operations: what a cache serves is not below its bound") {
    RecordedProfile profile;
    add_runs(profile, "aten::add", "[[1024,1024],[1024,1024]]", {1'700});
    auto validation = compare_recorded(profile, h100(), nothing());
    REQUIRE(validation);
    complete(*validation);
    REQUIRE(validation->rows.size() == 1);
    CHECK(validation->rows[0].prediction.lower_s == approx(6.0 * 1024 * 1024 / 3.35e12));
    CHECK(validation->rows[0].cached());
    CHECK_FALSE(validation->rows[0].below_lower());
    add_runs(profile, "aten::mm", "[[8192,4096],[4096,1792]]", {100'000});  // 1.2 PFLOP/s, which no H100 has
    auto impossible = compare_recorded(profile, h100(), nothing());
    REQUIRE(impossible);
    complete(*impossible);
    CHECK(impossible->summary.below_lower == 1);
    CHECK(impossible->failed());
    CHECK(impossible->notes[1].starts_with("1 operation is faster than H100 SXM5 80GB can be"));
}

TEST_CASE("recorded operations: samples for a fit have the median and the shape") {
    RecordedProfile profile;
    profile.name = "step.json";
    add_runs(profile, "aten::mm", "[[8192,4096],[4096,1792]]", {210'000, 900'000, 200'000, 220'000});
    add_runs(profile, "my::own", "[[8192,4096]]", {30'000});
    add_exchanges(profile, {700'000, 400'000});
    TableSamples samples;
    Reasons skipped;
    REQUIRE(collect_recorded(profile, h100(), samples, skipped));
    REQUIRE(samples.kernels.size() == 1);
    CHECK(samples.kernels[0].machine == "h100-sxm5");
    CHECK(samples.kernels[0].key.kind == KernelKind::contraction);
    CHECK(samples.kernels[0].key.dtype == "bf16");
    CHECK(samples.kernels[0].timed.time_s == approx(215e-6));
    CHECK(samples.kernels[0].source == "step.json");
    REQUIRE(samples.collectives.size() == 1);
    CHECK(samples.collectives[0].timed.time_s == approx(400e-6));
    CHECK(samples.collectives[0].key.kind == CollectiveKind::all_reduce);
    CHECK(skipped.at("my::own is not known") == 1);
}
