#include "calibrate/collective/collective_model.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"

using namespace roofline::core;

namespace {

System one_axis(std::string_view machine, std::string_view shape) {
    System system;
    system.slice = *make_slice(*find_machine(machine), shape);
    system.mesh = *place_mesh(system.slice, {{"X", system.slice.chips()}});
    return system;
}

CollectivePoint point_of(const System& system, CollectiveKind kind, double bytes) {
    const auto load = collective_load(system.slice, kind, {&system.mesh.front()});
    REQUIRE(load);
    const auto point = collective_point(*load, system, bytes);
    REQUIRE(point);
    return *point;
}

}  // namespace

TEST_CASE("a point has the bytes on the wire as time at the published rate") {
    const System h100 = one_axis("h100-sxm5", "8");  // 450 GB/s per port
    const CollectivePoint gather = point_of(h100, CollectiveKind::all_gather, 450e6);
    CHECK(gather.members == 8);
    CHECK(gather.buffer_bytes == 450e6);
    CHECK(gather.buffer_s == approx(1e-3));
    CHECK(gather.wire_s == approx(0.875e-3));
    // the two halves of an all-reduce, although the switch could reduce with 9/8 of the array
    CHECK(point_of(h100, CollectiveKind::all_reduce, 450e6).wire_s == approx(1.75e-3));
    // in an all-to-all each chip has an eighth, 7/8 of which it sends
    const CollectivePoint exchange = point_of(h100, CollectiveKind::all_to_all, 3600e6);
    CHECK(exchange.buffer_bytes == 450e6);
    CHECK(exchange.wire_s == approx(0.875e-3));
    // two nodes of 8: the switch takes 2 * 7/8 V / 450 GB/s = 1.75 ms, a NIC 2 * V/8 * 1/2 at 50 GB/s = 1.125 ms
    const System nodes = one_axis("h100-sxm5", "8x2");
    const CollectivePoint far = point_of(nodes, CollectiveKind::all_reduce, 450e6);
    CHECK(far.members == 16);
    CHECK(far.wire_s == approx(1.75e-3));
}

TEST_CASE("a segment adds a base, steps and bytes at fractions of the rate") {
    CollectivePoint point{8, 450e6, 0.8e-3, 1e-3};
    const CurveSegment ring{10e-6, 2e-6, 0.8, 0, 0};
    CHECK(seconds_of(ring, StepCount::linear, point) == approx(10e-6 + 6 * 2e-6 + 1e-3));
    CHECK(seconds_of(ring, StepCount::logarithmic, point) == approx(10e-6 + 2 * 2e-6 + 1e-3));
    const CurveSegment kernel{3e-6, 0, 0, 2, 0.5};
    CHECK(seconds_of(kernel, StepCount::linear, point) == approx(3e-6 + 0.5e-3 + 7 * 2e-3));
}

TEST_CASE("on a torus the published latency of the hops is added") {
    // 4 x 4 chips in open lines: three hops along each axis, of a microsecond (data/machines/tpu-v5e.toml)
    const CollectivePoint point = point_of(one_axis("tpu-v5e", "4x4"), CollectiveKind::all_gather, 1e6);
    CHECK(point.latency_s == approx(6e-6));
    CHECK(seconds_of(CurveSegment{10e-6, 0, 0, 0, 0}, StepCount::hops, point) == approx(16e-6));
    CHECK(seconds_of(CurveSegment{10e-6, 0, 0, 0, 0}, StepCount::linear, point) == approx(10e-6));
    CHECK(point_of(one_axis("h100-sxm5", "8"), CollectiveKind::all_gather, 1e6).latency_s == 0);
}

TEST_CASE("the cheapest segment counts, separately below and above a limit") {
    TimeCurve curve;
    curve.segments = {{5e-6, 0, 0.1, 0, 0}, {20e-6, 0, 1, 0, 0}};
    CollectivePoint small{2, 1e3, 1e-6, 2e-6};
    CollectivePoint large{2, 1e6, 100e-6, 200e-6};
    CHECK(seconds_of(curve, small) == approx(15e-6));   // 5 + 1/0.1 instead of 20 + 1
    CHECK(seconds_of(curve, large) == approx(120e-6));  // 20 + 100
    CHECK(cheapest(curve, large) == curve.segments[1]);
    curve.limit = CurveLimit{1e6, false};
    curve.beyond = {{90e-6, 0, 0.5, 0, 0}};
    CHECK(seconds_of(curve, large) == approx(120e-6));  // at the limit
    large.buffer_bytes = 1.01e6;
    CHECK(seconds_of(curve, large) == approx(290e-6));  // above the limit
    curve.limit->of_piece = true;
    CHECK(seconds_of(curve, large) == approx(120e-6));  // each of the two has half of it
    // no time beyond the limit is less than the time at it: 20 + 100 us for 1 MB
    curve.limit->of_piece = false;
    curve.beyond = {{10e-6, 0, 1, 0, 0}};
    large = {2, 1.05e6, 105e-6, 210e-6};
    CHECK(seconds_of(curve, large) == approx(120e-6));
    large = {2, 2e6, 200e-6, 400e-6};
    CHECK(seconds_of(curve, large) == approx(210e-6));
}

TEST_CASE("counts with curves of their own follow them, others the shared one") {
    CollectiveModel model;
    model.shared.segments = {{10e-6, 1e-6, 0, 0, 0}};
    model.counted = {{2, {StepCount::linear, {{30e-6, 0, 0, 0, 0}}, {}, {}}},
                     {8, {StepCount::linear, {{40e-6, 0, 0, 0, 0}}, {}, {}}}};
    CollectivePoint point{2, 1e3, 0, 0};
    CHECK(seconds_of(model, point) == approx(30e-6));
    point.members = 8;
    CHECK(seconds_of(model, point) == approx(40e-6));
    point.members = 4;
    CHECK(seconds_of(model, point) == approx(12e-6));
    CHECK(curve_for(model, 8) == model.counted[1].curve);
    CHECK(curve_for(model, 16) == model.shared);
}

TEST_CASE("a group of one has no point") {
    const System one = one_axis("h100-sxm5", "1");
    CollectiveLoad load;
    CHECK_FALSE(collective_point(load, one, 1e6));
}
