#include "measure/cpu/cpu_machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "machine/machine_text.hpp"
#include "measure/cpu/measure_cpu.hpp"
#include "measure/cpu/measure_parts.hpp"
#include "measure/stop.hpp"

using namespace roofline::core;

namespace {

PeakResult peak_of(const std::string& id, const std::string& title, Unit unit, Dtype dtype, int threads, double p95) {
    PeakResult peak;
    peak.kernel.id = id;
    peak.kernel.title = title;
    peak.kernel.instructions = "instructions of " + id;
    peak.kernel.unit = unit;
    peak.kernel.dtype = dtype;
    peak.threads = threads;
    peak.rate = {p95 * 0.99, p95 * 0.98, p95, 40, 41, false};
    peak.hertz = 3e9;
    peak.port.known = true;
    return peak;
}

BandwidthResult bandwidth_of(int level, const std::string& id, int threads, double p95, CorePlacement placement) {
    BandwidthResult result;
    result.level = level;
    result.kernel = {id, id, 1, 1, id == "write" ? 2 : 1, nullptr};
    result.threads = threads;
    result.working_set = 1 << 20;
    result.placement = placement;
    result.rate = {p95 * 0.9, p95 * 0.8, p95, 20, 20, false};
    return result;
}

/// Two cores of a fictitious processor.
CpuMeasurement invented() {
    CpuMeasurement m;
    m.features.name = "Invented 2000";
    m.threads = 2;
    m.hertz = 3e9;
    m.topology.cpus = {0, 1};
    m.topology.source = "a sheet of paper";
    m.topology.caches = {{1, 32768, 2, 1}, {3, 1 << 24, 1, 2}};
    m.peaks = {peak_of("fma_f32", "FMA", Unit::matmul, Dtype::f32, 1, 100e9),
               peak_of("fma_f32", "FMA", Unit::matmul, Dtype::f32, 2, 200e9),
               peak_of("mix_f32", "FMA + add 2:1", Unit::vector, Dtype::f32, 2, 250e9),
               peak_of("dot_int8", "dot product", Unit::matmul, Dtype::int8, 2, 800e9)};
    const auto single = CorePlacement::single;
    m.bandwidths = {bandwidth_of(1, "read", 2, 400e9, single),
                    bandwidth_of(1, "copy", 2, 450e9, single),
                    bandwidth_of(0, "read", 1, 30e9, CorePlacement::near),
                    bandwidth_of(0, "read", 2, 35e9, CorePlacement::near),
                    bandwidth_of(0, "write", 2, 36e9, CorePlacement::near),
                    bandwidth_of(0, "read", 2, 60e9, CorePlacement::far)};
    m.latencies = {{4096, 1e-9}, {1 << 22, 12e-9}, {1 << 26, 100e-9}};
    return m;
}

}  // namespace

TEST_CASE("a measured processor becomes a machine that survives a round trip through its file") {
    const auto machine = machine_of(invented(), "2026-02-03");
    REQUIRE(machine);
    CHECK(machine->peak(Unit::matmul, Dtype::f32)->rate.value->value == 200e9);
    CHECK(machine->peak(Unit::vector, Dtype::f32)->rate.value->value == 250e9);
    CHECK(machine->peak(Unit::matmul, Dtype::int8)->rate.value->value == 800e9);
    CHECK(machine->peak(Unit::matmul, Dtype::bf16) == nullptr);
    // the envelope over kernels, with all threads
    CHECK(machine->level("l1")->bandwidth.value->value == 450e9);
    CHECK(machine->level("l1")->total_capacity()->value == 65536);
    const Figure<Bandwidth>& dram = machine->level("hbm")->bandwidth;
    CHECK(dram.value->value == 60e9);
    CHECK(dram.basis == Basis::measured);
    CHECK(dram.source.find("2026-02-03") != std::string::npos);
    CHECK(dram.note.find("latency 100 ns") != std::string::npos);
    REQUIRE(dram.alternatives.size() == 1);
    CHECK(dram.alternatives.front().value == 36e9);

    const std::string text = machine_text(*machine);
    const auto again = parse_machine(text, "this.toml");
    REQUIRE(again);
    CHECK(again->peaks.size() == machine->peaks.size());
    CHECK(again->level("hbm")->bandwidth.value->value == 60e9);
    CHECK(again->level("hbm")->bandwidth.note == dram.note);
    CHECK(again->cores == 2);
    CHECK(again->level("hbm")->bandwidth.alternatives.size() == 1);
    CHECK(again->measured.size() == 10);
}

TEST_CASE("a rejected peak is replaced by another, by the rate of the ports, or by nothing") {
    CpuMeasurement m = invented();
    m.peaks[1].refusal = "disturbed";
    auto machine = machine_of(m, "");
    REQUIRE(machine);
    CHECK(machine->peak(Unit::matmul, Dtype::f32) == nullptr);
    // the mixture was not rejected
    CHECK(machine->peak(Unit::vector, Dtype::f32)->rate.value->value == 250e9);

    // two FMAs of eight lanes fit in a cycle of this processor
    m.peaks[1].kernel.needs = CpuFeature::avx2_fma;
    m.peaks[1].kernel.register_bytes = 32;
    m.peaks[1].port.rate = 32;
    m.peaks[1].port.sure = true;
    m.peaks[1].rate.p95 = 150e9;
    machine = machine_of(m, "");
    REQUIRE(machine);
    const Peak* derived = machine->peak(Unit::matmul, Dtype::f32);
    REQUIRE(derived != nullptr);
    CHECK(derived->rate.value->value == 32 * 3e9 * 2);
    CHECK(derived->rate.basis == Basis::derived);
    // a peak is never below a measured rate
    m.peaks[1].rate.p95 = 200e9;
    machine = machine_of(m, "");
    REQUIRE(machine);
    CHECK(machine->peak(Unit::matmul, Dtype::f32)->rate.value->value == 200e9);
}

TEST_CASE("without a peak or a main memory bandwidth there is no machine") {
    CpuMeasurement m = invented();
    m.bandwidths.resize(2);
    auto machine = machine_of(m, "");
    REQUIRE_FALSE(machine);
    CHECK(machine.error().code == "measurement");
    m = invented();
    m.peaks.clear();
    CHECK_FALSE(machine_of(m, ""));
}

TEST_CASE("rejections name their cause") {
    PeakResult peak = peak_of("fma_f32", "FMA", Unit::matmul, Dtype::f32, 1, 100e9);
    CHECK(refusal_of(peak).empty());
    peak.port = {false, 32, 0.6};
    CHECK(refusal_of(peak).find("spilled") != std::string::npos);
    peak.port.share = 1.2;
    CHECK(refusal_of(peak).find("too low") != std::string::npos);
    peak.clock_spread = 0.1;
    CHECK(refusal_of(peak).find("clock changed") != std::string::npos);
    peak.rate.disturbed = true;
    CHECK(refusal_of(peak).find("disturbed too many samples") != std::string::npos);
}

TEST_CASE("what one kernel shows about the ports applies to all kernels that use them") {
    // 512 bits: an FMA is 32 operations in f32 and 16 in f64; twelve instructions per pass
    const auto wide = [](Dtype dtype, int threads, double operations, double ops_per_cycle) {
        PeakResult peak = peak_of("fma", "FMA", Unit::matmul, dtype, threads, 100e9);
        peak.kernel.register_bytes = 64;
        peak.kernel.ops_per_pass = 12 * operations;
        peak.kernel.instructions_per_pass = 12;
        peak.ops_per_cycle = ops_per_cycle;
        peak.port = judge_port_rate(peak.kernel, {0.5, 1, 2, 4}, ops_per_cycle);
        peak.refusal = refusal_of(peak);
        return peak;
    };
    // the two f64 threads shared their cores with others, so the processor appears to have one port
    std::vector<PeakResult> peaks{wide(Dtype::f32, 1, 32, 63), wide(Dtype::f64, 2, 16, 16.2)};
    CHECK(peaks[1].refusal.empty());
    reconcile_ports(peaks);
    CHECK(peaks[0].refusal.empty());
    CHECK(peaks[0].port.sure);
    CHECK_FALSE(peaks[1].refusal.empty());
    CHECK(peaks[1].port.rate == 32);
    CHECK(peaks[1].port.sure);
}

TEST_CASE("working sets for main memory are far larger than the caches and fit in the memory") {
    CpuTopology topology;
    topology.caches = {{3, std::int64_t{32} << 20, 2, 8}};
    CHECK(memory_working_set(topology, std::int64_t{64} << 30) == std::size_t{256} << 20);
    CHECK(memory_working_set(topology, std::int64_t{1} << 30) == std::size_t{128} << 20);
    CHECK(memory_working_set({}, 0) == std::size_t{128} << 20);
}

TEST_CASE("thread counts") {
    CHECK(thread_counts(1, true) == std::vector<int>{1});
    CHECK(thread_counts(2, true) == std::vector<int>{1, 2});
    CHECK(thread_counts(12, true) == std::vector<int>{1, 2, 4, 8, 12});
    CHECK(thread_counts(12, false) == std::vector<int>{1, 12});
}

TEST_CASE("a whole measurement with very few samples gives a machine, or an error with the reason") {
    CpuMeasureOptions options;
    options.samples = 3;
    options.sample_s = 1e-4;
    options.idle_wait_s = 0;
    options.small_pages = false;
    options.all_thread_counts = false;
    options.latency_points = 4;
    Progress progress;
    const auto measurement = measure_cpu(options, progress);
    REQUIRE(measurement);
    CHECK_FALSE(measurement->peaks.empty());
    CHECK_FALSE(measurement->bandwidths.empty());
    CHECK(measurement->samples_tried >= measurement->samples_rejected);
    const auto machine = machine_of(*measurement, "2026-02-03");
    if (machine) {
        CHECK(parse_machine(machine_text(*machine), "this.toml"));
    } else {
        CHECK(machine.error().code == "measurement");
    }
}

TEST_CASE("an interrupt ends a measurement") {
    request_stop();
    Progress progress;
    const auto measurement = measure_cpu({}, progress);
    reset_stop();
    REQUIRE_FALSE(measurement);
    CHECK(measurement.error().code == "interrupted");
}
