// State and functions shared by the measurements of a GPU. Internal to src/measure/gpu.
#pragma once

#include <string>

#include "measure/gpu/gpu.hpp"
#include "measure/gpu/gpu_management.hpp"
#include "measure/gpu/measure_gpu.hpp"
#include "measure/progress.hpp"

namespace roofline::core {

struct GpuProbe {
    Gpu& gpu;
    const GpuManagement& management;
    const GpuMeasureOptions& options;
    Progress& progress;
    GpuMeasurement result{};
    GpuMemory scratch{};  ///< a few bytes for outputs that are not used, and for clocks
    double fraction = 0;
    unsigned long long clock_limits = 0;  ///< what limited the clock during the matmuls: bits of GpuManagement

    void at(const std::string& what, double share) { progress.at(what, fraction = std::max(fraction, share)); }
    [[nodiscard]] Result<GpuFigure> figure(std::string what, double work,
                                           const std::function<Status(std::int64_t)>& calls);
    /// Clock computed from the cycles and the time that a kernel wrote.
    [[nodiscard]] Result<double> clock_written();
    /// Clock right after the work in the stream.
    [[nodiscard]] Result<double> clock_after();
    [[nodiscard]] cuda::DevicePointer clock_at() const { return scratch.device() + 64; }
};

/// Pattern for 64-bit words of random bits: (random & keep) | set.
struct GpuPattern {
    std::uint64_t keep = ~std::uint64_t{0};
    std::uint64_t set = 0;
};
/// Pattern for numbers of this type between 1/8 and 2 with random signs; integers have all values.
[[nodiscard]] GpuPattern gpu_pattern(cuda::DataType type);
/// Decodes an element.
[[nodiscard]] double gpu_number(cuda::DataType type, const unsigned char* element);
[[nodiscard]] std::size_t gpu_bytes(cuda::DataType type);

[[nodiscard]] Status fill_randomly(Gpu& gpu, cuda::DevicePointer at, std::size_t bytes, std::uint64_t seed,
                                   GpuPattern pattern);

[[nodiscard]] Status measure_vector_peaks(GpuProbe& probe);
[[nodiscard]] Status measure_matmul_peaks(GpuProbe& probe);
[[nodiscard]] Status measure_bandwidths(GpuProbe& probe);
[[nodiscard]] Status measure_launches(GpuProbe& probe);

}  // namespace roofline::core
