#include "measure/gpu/measure_gpu.hpp"

#include <fmt/format.h>

#include <utility>

#include "measure/gpu/gpu_kernels.hpp"
#include "measure/gpu/gpu_probe.hpp"

namespace roofline {

namespace {

/// Bits of NVML's throttle reasons that lower a roof; idling and a user's own settings do not.
std::string throttled_by(unsigned long long reasons) {
    std::string text;
    const auto say = [&](unsigned long long bit, const char* what) {
        if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(what);
    };
    say(0x4, "the power limit");
    say(0x8, "a hardware slowdown");
    say(0x20, "the temperature (by software)");
    say(0x40, "the temperature (by hardware)");
    say(0x80, "the power supply");
    return text;
}

void ask_management(const Gpu& gpu, GpuMeasurement& result) {
    if (!gpu.libraries().management) {
        result.notes.emplace_back(
            "NVML (libnvidia-ml.so.1) is not there: nothing is known of power limits and throttling");
        return;
    }
    const Nvml& management = *gpu.libraries().management;
    cuda::Handle device = nullptr;
    if (management.init() != cuda::success) return;
    if (management.device_by_pci(gpu.properties().pci.c_str(), &device) == cuda::success) {
        unsigned milliwatts = 0;
        if (management.power_limit(device, &milliwatts) == cuda::success) result.power_limit_w = 1e-3 * milliwatts;
        unsigned long long reasons = 0;
        if (management.throttle_reasons(device, &reasons) == cuda::success) {
            const std::string what = throttled_by(reasons);
            if (!what.empty()) result.notes.push_back("after the matmuls the clock was held back by " + what);
        }
    }
    management.shutdown();
}

std::string software_of(const GpuLibraries& libraries) {
    const std::size_t blas = libraries.blas.version();
    int major = 0;
    int minor = 0;
    std::string text = fmt::format("driver for CUDA {}, cuBLASLt {}.{}.{}", cuda_version_text(libraries.driver_version),
                                   blas / 10000, blas / 100 % 100, blas % 100);
    if (libraries.compiler.version(&major, &minor) == cuda::success) text += fmt::format(", NVRTC {}.{}", major, minor);
    return text;
}

}  // namespace

Result<GpuFigure> GpuProbe::figure(std::string what, double work, const std::function<Status(std::int64_t)>& calls) {
    auto sampled = take_gpu_samples(gpu, calls, options.sampling);
    if (!sampled) return fail(sampled.error());
    if (!(sampled->spread.p5 > 0)) return fail("gpu", "the GPU's clock did not move during " + what);
    return GpuFigure{std::move(what), work, sampled->spread, ""};
}

Result<double> GpuProbe::clock_written() {
    std::uint64_t clock[2] = {};
    if (auto status = gpu.download(clock, clock_at(), sizeof clock); !status) return fail(status.error());
    return clock[1] == 0 ? 0 : 1e9 * static_cast<double>(clock[0]) / static_cast<double>(clock[1]);
}

Result<double> GpuProbe::clock_after() {
    auto spin = gpu.kernel("spin");
    if (!spin) return fail(spin.error());
    // the clock changes over milliseconds; on some devices the time counts in microseconds
    if (auto status = gpu.launch(*spin, 1, 1, std::uint64_t{500'000}, clock_at()); !status) return fail(status.error());
    return clock_written();
}

Result<GpuMeasurement> measure_gpu(Gpu& gpu, const GpuMeasureOptions& options, Progress& progress) {
    GpuProbe probe{gpu, options, progress};
    probe.result.gpu = gpu.properties();
    probe.result.software = software_of(gpu.libraries());
    probe.at("compiling kernels", 0);
    if (auto status = gpu.load(gpu_measuring_kernels(gpu.properties().capability())); !status)
        return fail(status.error());
    auto scratch = gpu.allocate(256);
    if (!scratch) return fail(scratch.error());
    probe.scratch = std::move(*scratch);
    if (auto status = measure_launches(probe); !status) return fail(status.error());
    if (auto status = measure_bandwidths(probe); !status) return fail(status.error());
    if (auto status = measure_vector_peaks(probe); !status) return fail(status.error());
    if (auto status = measure_matmul_peaks(probe); !status) return fail(status.error());
    ask_management(gpu, probe.result);
    return std::move(probe.result);
}

}  // namespace roofline
