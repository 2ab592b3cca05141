#include "app/local/fit_machine.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "app/local/handle_measure_cpu.hpp"
#include "calibrate/kernel/fit_kernels.hpp"
#include "machine/machine_text.hpp"
#include "measure/run/cpu_device.hpp"

using namespace roofline::core;

namespace {

Machine invented_machine() {
    Machine machine;
    machine.id = "this";
    machine.name = "Invented 2000";
    machine.kind = "cpu";
    Peak peak;
    peak.unit = Unit::matmul;
    peak.dtype = Dtype::f32;
    peak.accumulator = Dtype::f32;
    peak.rate.value = FlopRate{1e11};
    peak.rate.source = "a sheet of paper";
    machine.peaks.push_back(peak);
    MemoryLevel memory;
    memory.id = "hbm";
    memory.label = "DRAM";
    memory.scope = "chip";
    memory.bandwidth.value = Bandwidth{2e10};
    memory.bandwidth.source = "a sheet of paper";
    machine.memory.push_back(memory);
    return machine;
}

Calibration invented_calibration() {
    Calibration calibration;
    calibration.machine = "this";
    calibration.fitted = "2026-02-03";
    calibration.tool = "roofline";
    CalibratedKernel kernel;
    kernel.key.kind = KernelKind::contraction;
    kernel.key.dtype = "f32";
    kernel.fit.model.math = 0.9;
    kernel.fit.model.memory = 0.8;
    kernel.fit.model.p = 2;
    kernel.fit.rows = 10;
    kernel.fit.least_s = 1e-4;
    kernel.fit.most_s = 1e-2;
    kernel.sources = {"a sheet of paper"};
    calibration.kernels.push_back(kernel);
    return calibration;
}

}  // namespace

TEST_CASE("a machine file with kernel models reads back as a machine and as a calibration") {
    const std::string text = calibrated_file(invented_machine(), invented_calibration(), {});
    const auto machine = parse_machine(text, "this.toml");
    REQUIRE(machine);
    CHECK(machine->peak(Unit::matmul, Dtype::f32)->rate.value->value == 1e11);
    const auto calibration = parse_machine_calibration(text, "this.toml");
    REQUIRE(calibration);
    REQUIRE(*calibration);
    REQUIRE((*calibration)->kernels.size() == 1);
    CHECK((*calibration)->kernels.front().fit.model.p == 2);
}

TEST_CASE("without kernel models there is no table of them") {
    CHECK(calibrated_file(invented_machine(), {}, {}) == machine_text(invented_machine()));
}

TEST_CASE("measuring the processor again keeps the collectives of the network but not the old kernel models") {
    Machine old = invented_machine();
    NetworkTier tier;
    tier.id = "shm";
    tier.label = "shared memory";
    tier.topology = "switch";
    tier.domain = 2;
    tier.chip_bandwidth.value = Bandwidth{5e9};
    tier.chip_bandwidth.source = "a sheet of paper";
    old.network.push_back(tier);
    const NamedText before{"this.toml", calibrated_file(old, invented_calibration(), {})};
    const std::string text = calibrated_file(invented_machine(), {}, before);
    const auto machine = parse_machine(text, "this.toml");
    REQUIRE(machine);
    REQUIRE(machine->tier("shm") != nullptr);
    CHECK(machine->tier("shm")->chip_bandwidth.value->value == 5e9);
    const auto calibration = parse_machine_calibration(text, "this.toml");
    REQUIRE(calibration);
    CHECK_FALSE(*calibration);
}

TEST_CASE("an invalid existing file does not cause a failure") {
    CHECK(calibrated_file(invented_machine(), {}, NamedText{"this.toml", "= broken ["}) ==
          machine_text(invented_machine()));
}

TEST_CASE("elementwise operations are timed for several row lengths with equal numbers of elements") {
    // Rows of a single length would not separate the time per element from the time per row.
    for (const Effort effort : {Effort::quick, Effort::thorough}) {
        std::map<std::string, std::set<std::string>> rows;
        for (const FitSubject& subject : fit_subjects(effort)) {
            if (subject.program.find('*') == std::string::npos) rows[subject.program].insert(subject.dims);
        }
        CHECK(rows.size() == 2);
        for (const auto& [program, dims] : rows) CHECK(dims.size() == 2);
    }
}

TEST_CASE("programs that run are fitted, and programs that cannot run are noted") {
    auto device = make_cpu_device({1, false});
    REQUIRE(device);
    const std::vector<FitSubject> subjects{
        {"f32[B, D] * f32[D, F] -> f32[B, F]", "D=32,F=32", "B=1..512*2"},
        {"fp8[B, D] * fp8[D, F] -> f32[B, F]", "D=32,F=32", "B=1,2"},
    };
    Progress progress;
    const auto fit =
        fit_machine(machine_text(invented_machine()), "2026-02-03", **device, Effort::quick, subjects, progress);
    REQUIRE(fit);
    CHECK(fit->programs.size() + fit->disturbed == 10);
    bool noted = false;
    for (const std::string& note : fit->notes) noted = noted || note.find("fp8") != std::string::npos;
    CHECK(noted);
    for (const TimedProgram& each : fit->programs) {
        CHECK(each.program.ends_with(", D=32,F=32"));
        CHECK(each.measured_s > 0);
        CHECK(each.lower_s > 0);
    }
    // On a busy machine too few undisturbed runs remain.
    if (fit->programs.size() < min_kernels || fit->calibration.kernels.empty()) return;
    CHECK(fit->calibration.kernels.front().key.kind == KernelKind::contraction);
    CHECK(fit->calibration.kernels.front().key.dtype == "f32");
    CHECK(fit->programs.front().expected_s > 0);
}

TEST_CASE("a quick measurement does not replace a full one without --replace") {
    MeasureRequest request;
    request.effort = Effort::quick;
    request.output = "full.toml";
    request.before = NamedText{"full.toml", calibrated_file(invented_machine(), invented_calibration(), {})};
    Progress silent;
    const auto refused = handle_measure_cpu(request, Format::text, false, silent);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "full.toml contains a full measurement, which --quick would replace");
    CHECK(refused.error().hint.find("--replace") != std::string::npos);
}
