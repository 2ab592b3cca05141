// Runs whole measurements on the fake GPU of tests/gpu/fake_cuda.cpp. The expected values are the rates that it is
// defined with: 10 multiprocessors at 1.5 GHz, 1 TB/s and so on.
#include "measure/gpu/measure_gpu.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/approx_test.hpp"
#include "machine/machine_text.hpp"
#include "measure/gpu/gpu_kernels.hpp"
#include "measure/gpu/gpu_machine.hpp"
#include "measure/stop.hpp"

namespace {

using namespace roofline::core;

const std::string fake_folder = ROOFLINE_FAKE_CUDA_FOLDER;

/// Sets a mode of the fake GPU while this object lives.
struct FakeGpuMode {
    explicit FakeGpuMode(const char* words) { ::setenv("ROOFLINE_FAKE_CUDA", words, 1); }
    FakeGpuMode(const FakeGpuMode&) = delete;
    FakeGpuMode& operator=(const FakeGpuMode&) = delete;
    ~FakeGpuMode() { ::unsetenv("ROOFLINE_FAKE_CUDA"); }
};

int fake_objects_left() {
    void* library = ::dlopen((fake_folder + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    void* left = ::dlsym(library, "fake_cuda_left");
    REQUIRE(left != nullptr);
    return reinterpret_cast<int (*)()>(left)();
}

GpuMeasureOptions small_options() {
    GpuMeasureOptions options;
    options.sampling.samples = 3;
    options.sampling.sample_s = 0.001;
    options.sampling.warm_up_s = 0.001;
    options.sides = {256, 512};
    options.buffer_bytes = 1 << 20;
    return options;
}

Result<GpuMeasurement> measured_on_fake(const char* words = "") {
    const FakeGpuMode mode(words);
    auto gpu = Gpu::open(fake_folder);
    if (!gpu) return fail(gpu.error());
    Progress progress;
    return measure_gpu(**gpu, small_options(), progress);
}

double matmul_rate(const Machine& machine, Dtype dtype) {
    const Peak* peak = machine.peak(Unit::matmul, dtype);
    return peak == nullptr || !peak->rate.value ? 0 : peak->rate.value->value;
}

double measured_value(const Machine& machine, const std::string& what) {
    for (const Measurement& each : machine.measured) {
        if (each.what == what && each.value.value) return each.value.value->value;
    }
    return 0;
}

}  // namespace

TEST_CASE("measured peak rates of a GPU equal the true rates") {
    auto measurement = measured_on_fake();
    REQUIRE_MESSAGE(measurement, (measurement ? "" : measurement.error().message));
    CHECK(fake_objects_left() == 0);
    const Machine machine = machine_of_gpu(*measurement, "2026-01-31");
    CHECK(machine.id == "imaginary-gpu-256mb");
    CHECK(machine.cores == 10);

    // 2 FLOPs x 10 x 128 multiply-adds at 1.5 GHz; a launch adds 2 us to some milliseconds
    const Peak* f32 = machine.peak(Unit::vector, Dtype::f32);
    REQUIRE(f32 != nullptr);
    CHECK(f32->rate.value->value == approx(3.84e12).epsilon(0.005));
    CHECK(f32->rate.basis == Basis::measured);
    CHECK(f32->rate.note.find("of 128 at 1.5 GHz") != std::string::npos);
    CHECK(machine.peak(Unit::vector, Dtype::f64)->rate.value->value == approx(1.92e12).epsilon(0.005));
    CHECK(machine.peak(Unit::vector, Dtype::f16)->rate.value->value == approx(7.68e12).epsilon(0.005));
    CHECK(machine.clock.value->value == approx(1.5e9).epsilon(0.001));

    // the largest matmul that was tried, with the fastest of three algorithms, plus the 2 us of a launch
    const double flops = 2.0 * 512 * 512 * 512;
    CHECK(matmul_rate(machine, Dtype::bf16) == approx(flops / (2e-6 + flops / 190e12)).epsilon(0.001));
    CHECK(matmul_rate(machine, Dtype::fp8) == approx(flops / (2e-6 + flops / 400e12)).epsilon(0.001));
    CHECK(matmul_rate(machine, Dtype::f64) == approx(flops / (2e-6 + flops / 10e12)).epsilon(0.001));
    CHECK(matmul_rate(machine, Dtype::f32) == approx(flops / (2e-6 + flops / 20e12)).epsilon(0.001));
    CHECK(matmul_rate(machine, Dtype::tf32) == approx(flops / (2e-6 + flops / 100e12)).epsilon(0.001));
    CHECK(matmul_rate(machine, Dtype::int8) == approx(flops / (2e-6 + flops / 380e12)).epsilon(0.001));
}

TEST_CASE("measured memory, link and launch figures of a GPU equal the true ones") {
    auto measurement = measured_on_fake();
    REQUIRE(measurement);
    const Machine machine = machine_of_gpu(*measurement, "2026-01-31");
    // 16 MiB, four times the L2, are read in 16.8 us, and a launch adds 2 us
    const double bytes = 16 << 20;
    CHECK(machine.level("hbm")->bandwidth.value->value ==
          approx(3 * bytes / (2e-6 + 3 * bytes / 0.95e12)).epsilon(0.001));
    CHECK(machine.level("hbm")->bandwidth.note.starts_with("triad, the fastest"));
    CHECK(measured_value(machine, "hbm_read") == approx(bytes / (2e-6 + bytes / 1e12)).epsilon(0.001));
    CHECK(measured_value(machine, "hbm_write") == approx(bytes / (2e-6 + bytes / 0.85e12)).epsilon(0.001));
    CHECK(machine.level("hbm")->capacity.value->value == approx(256.0 * (1 << 20)));
    CHECK(machine.level("l2")->bandwidth.value->value == approx(5e12).epsilon(0.3));
    CHECK(measured_value(machine, "l2_read_2048KiB") < 2.6e12);
    CHECK(machine.level("smem")->bandwidth.value->value == approx(128.0 * 10 * 1.5e9).epsilon(0.01));
    CHECK(machine.level("smem")->instances == 10);
    CHECK(machine.host->bandwidth.value->value == approx(25e9).epsilon(0.001));
    CHECK(measured_value(machine, "device_to_host") == approx(20e9).epsilon(0.001));
    CHECK(measured_value(machine, "launch") == approx(2e-6).epsilon(0.001));
    CHECK(measured_value(machine, "graph_launch") == approx(1e-6).epsilon(0.001));
    CHECK(machine.power.value->value == approx(350));

    auto read = parse_machine(machine_text(machine), "this.toml");
    REQUIRE_MESSAGE(read, (read ? "" : read.error().message));
    CHECK(machine_text(*read) == machine_text(machine));
    CHECK(read->level("hbm")->bandwidth.value == machine.level("hbm")->bandwidth.value);
}

TEST_CASE("a dtype for which a GPU has no kernel is omitted with a note") {
    auto measurement = measured_on_fake("no_fp8");
    REQUIRE(measurement);
    const Machine machine = machine_of_gpu(*measurement, "");
    CHECK(machine.peak(Unit::matmul, Dtype::fp8) == nullptr);
    CHECK(matmul_rate(machine, Dtype::bf16) > 0);
    CHECK(machine.notes.find("no fp8 matmul") != std::string::npos);
}

TEST_CASE("a slowed GPU is detected") {
    auto measurement = measured_on_fake("slow");
    REQUIRE(measurement);
    const auto said = [&](const char* text) {
        return std::any_of(measurement->notes.begin(), measurement->notes.end(),
                           [&](const std::string& note) { return note.find(text) != std::string::npos; });
    };
    CHECK(said("f32 in registers ran at 60 % of the 128"));
    CHECK(said("the clock was limited during the matmuls by the power limit, the temperature (by hardware)"));
    const auto clean = measured_on_fake();
    REQUIRE(clean);
    CHECK(clean->notes.empty());
}

TEST_CASE("a shared memory rate above that of its banks is rejected") {
    auto measurement = measured_on_fake("fast_shared");
    REQUIRE(measurement);
    CHECK_FALSE(measurement->shared);
    REQUIRE(measurement->notes.size() == 1);
    CHECK(measurement->notes[0].find("of 128 at 1.5 GHz, more than its banks deliver") != std::string::npos);
    CHECK(machine_of_gpu(*measurement, "").level("smem") == nullptr);
}

TEST_CASE("a GPU that multiplies wrongly gives no figures") {
    const auto measurement = measured_on_fake("wrong");
    REQUIRE_FALSE(measurement);
    CHECK(measurement.error().code == "check_failed");
    CHECK(measurement.error().message.find("f64 matmul on the GPU is wrong") != std::string::npos);
    CHECK(fake_objects_left() == 0);
}

TEST_CASE("without a GPU the error says what is missing") {
    const auto nowhere = Gpu::open("/nonexistent");
    REQUIRE_FALSE(nowhere);
    CHECK(nowhere.error().code == "absent");
    CHECK(nowhere.error().message.find("no NVIDIA driver") != std::string::npos);
    CHECK(nowhere.error().hint.find("nvidia-smi") != std::string::npos);

    struct Row {
        const char* mode;
        const char* code;
        const char* message;
    };
    for (const Row& row :
         {Row{"no_device", "absent", "no NVIDIA GPU was found (CUDA_ERROR_NO_DEVICE)"},
          Row{"stub", "absent", "the toolkit's stub"}, Row{"old", "absent", "only CUDA 11.4 and older"},
          Row{"new_device", "absent", "cannot compile for compute capability 19.0"},
          Row{"no_memory", "memory", "too little free memory"}}) {
        CAPTURE(row.mode);
        const auto measurement = measured_on_fake(row.mode);
        REQUIRE_FALSE(measurement);
        CHECK(measurement.error().code == row.code);
        CHECK_MESSAGE(measurement.error().message.find(row.message) != std::string::npos, measurement.error().message);
        CHECK(fake_objects_left() == 0);
    }
}

TEST_CASE("a toolkit that fails to load is named, and CUDA_HOME selects another") {
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / fmt::format("roofline_toolkit_{}", ::getpid());
    fs::create_directories(folder / "lib");
    fs::create_symlink(fake_folder + "/libcuda.so.1", folder / "libcuda.so.1");
    std::ofstream(folder / "libcublasLt.so.12") << "no library";
    const auto broken = load_gpu_libraries(folder.string());
    REQUIRE_FALSE(broken);
    CHECK_MESSAGE(broken.error().message.find("libcublasLt.so.12: ") != std::string::npos, broken.error().message);
    CHECK(broken.error().hint.find("CUDA_HOME") != std::string::npos);

    fs::create_symlink(fake_folder + "/libnvrtc.so.13", folder / "lib/libnvrtc.so.13");
    ::setenv("CUDA_HOME", folder.c_str(), 1);
    const auto found = load_nvrtc("", 13);
    ::unsetenv("CUDA_HOME");
    CHECK_MESSAGE(found, (found ? "" : found.error().message));
    fs::remove_all(folder);
}

TEST_CASE("NVRTC's built-in functions are loaded from its folder") {
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / fmt::format("roofline_builtins_{}", ::getpid());
    fs::create_directories(folder);
    const fs::path builtins = folder / "libnvrtc-builtins.so.13.0";  // the version that the fake NVRTC reports
    fs::copy_file(fs::canonical(fake_folder + "/libcuda.so.1"), builtins);
    fs::create_symlink(fake_folder + "/libnvrtc.so.13", folder / "libnvrtc.so.13");
    REQUIRE(load_nvrtc(folder.string(), 13));
    CHECK(::dlopen(builtins.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr);
    fs::remove_all(folder);
}

TEST_CASE("an interrupt ends a GPU's measurement") {
    request_stop();
    const auto measurement = measured_on_fake();
    reset_stop();
    REQUIRE_FALSE(measurement);
    CHECK(measurement.error().code == "interrupted");
    CHECK(fake_objects_left() == 0);
}

namespace {

/// Counts the instructions of a kernel that are among `operations`: machine code from compute capability 7.0 on has 16
/// bytes per instruction, and the lowest 9 bits encode the operation.
std::size_t instructions_in(const std::string& binary, const std::string& kernel, std::vector<unsigned> operations) {
    const auto number = [&]<class T>(std::size_t at, T value) {
        REQUIRE(at + sizeof value <= binary.size());
        std::memcpy(&value, binary.data() + at, sizeof value);
        return value;
    };
    // ELF's section table: names, offsets and sizes
    const auto table = number(0x28, std::uint64_t{});
    const auto header = [&](std::size_t section) { return table + section * number(0x3A, std::uint16_t{}); };
    const auto names = number(header(number(0x3E, std::uint16_t{})) + 0x18, std::uint64_t{});
    for (std::size_t section = 0; section < number(0x3C, std::uint16_t{}); ++section) {
        if (binary.c_str() + names + number(header(section), std::uint32_t{}) != ".text." + kernel) continue;
        const auto begin = number(header(section) + 0x18, std::uint64_t{});
        const auto size = number(header(section) + 0x20, std::uint64_t{});
        std::size_t count = 0;
        for (std::size_t at = begin; at < begin + size; at += 16) {
            const unsigned does = number(at, std::uint32_t{}) & 0x1FF;
            if (std::find(operations.begin(), operations.end(), does) != operations.end()) ++count;
        }
        return count;
    }
    return 0;
}

}  // namespace

TEST_CASE("the operations that GPU peaks count are in the machine code") {
    auto compiler = load_nvrtc("", 13);
    if (!compiler) compiler = load_nvrtc("", 12);
    if (!compiler) {
        MESSAGE("skipped: " << compiler.error().message);
        return;
    }
    for (const int capability : {80, 90, 100}) {
        CAPTURE(capability);
        const auto binary = compile_for_gpu(*compiler, "NVRTC", gpu_measuring_kernels(capability), capability);
        if (!binary && binary.error().code == "absent") continue;  // an older toolkit
        REQUIRE(binary);
        // opcodes as nvdisasm -hex shows them: FFMA, DFMA, HFMA2 on either pipe, LDS, LDG
        CHECK(instructions_in(*binary, "peak_f32", {0x023}) >= fmas_per_round);
        CHECK(instructions_in(*binary, "peak_f64", {0x02B}) >= fmas_per_round);
        CHECK(instructions_in(*binary, "peak_f16x2", {0x031, 0x035}) >= fmas_per_round);
        CHECK(instructions_in(*binary, "peak_bf16x2", {0x031, 0x035}) >= fmas_per_round);
        CHECK(instructions_in(*binary, "read_shared", {0x184}) >= loads_per_round);
        CHECK(instructions_in(*binary, "read_l2", {0x181}) >= loads_per_round);
    }
}

TEST_CASE("the kernels that measure a GPU compile for every generation") {
    auto compiler = load_nvrtc("", 13);
    if (!compiler) compiler = load_nvrtc("", 12);
    if (!compiler) {
        MESSAGE("skipped: " << compiler.error().message);
        return;
    }
    for (const int capability : {75, 80, 90, 100}) {
        CAPTURE(capability);
        const auto binary = compile_for_gpu(*compiler, "NVRTC", gpu_measuring_kernels(capability), capability);
        if (!binary && binary.error().code == "absent") continue;  // an older toolkit
        REQUIRE_MESSAGE(binary, (binary ? "" : binary.error().message));
        CHECK(binary->substr(1, 3) == "ELF");
    }
    const auto wrong = compile_for_gpu(*compiler, "NVRTC", "__global__ void f() { nothing(); }", 90);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().message.find("nothing") != std::string::npos);
}
