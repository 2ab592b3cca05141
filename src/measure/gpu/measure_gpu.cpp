#include "measure/gpu/measure_gpu.hpp"

#include <fmt/format.h>

#include <utility>

#include "measure/gpu/gpu_kernels.hpp"
#include "measure/gpu/gpu_probe.hpp"

namespace roofline::core {

namespace {

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
    ROOFLINE_TRY(auto sampled, take_gpu_samples(gpu, calls, options.sampling));
    if (!(sampled.spread.p5 > 0)) return fail("gpu", "the GPU's clock did not advance during " + what);
    return GpuFigure{std::move(what), work, sampled.spread, ""};
}

Result<double> GpuProbe::clock_written() {
    std::uint64_t clock[2] = {};
    ROOFLINE_CHECK(gpu.download(clock, clock_at(), sizeof clock));
    return clock[1] == 0 ? 0 : 1e9 * static_cast<double>(clock[0]) / static_cast<double>(clock[1]);
}

Result<double> GpuProbe::clock_after() {
    ROOFLINE_TRY(auto spin, gpu.kernel("spin"));
    // the clock changes within milliseconds; the timer of some devices has microsecond resolution
    ROOFLINE_CHECK(gpu.launch(spin, 1, 1, std::uint64_t{500'000}, clock_at()));
    return clock_written();
}

Result<GpuMeasurement> measure_gpu(Gpu& gpu, const GpuMeasureOptions& options, Progress& progress) {
    const GpuManagement management(gpu);
    GpuProbe probe{gpu, management, options, progress};
    probe.result.gpu = gpu.properties();
    probe.result.software = software_of(gpu.libraries());
    probe.at("compiling kernels", 0);
    ROOFLINE_CHECK(gpu.load(gpu_measuring_kernels(gpu.properties().capability())));
    ROOFLINE_TRY(probe.scratch, gpu.allocate(256));
    ROOFLINE_CHECK(measure_launches(probe));
    ROOFLINE_CHECK(measure_bandwidths(probe));
    ROOFLINE_CHECK(measure_vector_peaks(probe));
    ROOFLINE_CHECK(measure_matmul_peaks(probe));
    probe.result.power_limit_w = management.power_limit();
    if (probe.clock_limits != 0) {
        probe.result.notes.push_back("the clock was limited during the matmuls by " +
                                     clock_limits_text(probe.clock_limits));
    }
    if (!management.there()) {
        probe.result.notes.emplace_back(
            "NVML (libnvidia-ml.so.1) is not installed: power limits and throttling are unknown");
    }
    return std::move(probe.result);
}

}  // namespace roofline::core
