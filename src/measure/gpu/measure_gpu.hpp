// What a GPU reaches: peaks by dtype, bandwidth of each level of memory, cost of a launch, and its way to the host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/gpu/gpu.hpp"
#include "measure/progress.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

struct GpuMeasureOptions {
    SamplingOptions sampling;                           ///< of each figure
    std::vector<std::int64_t> sides;                    ///< of square matmuls
    int ways = 8;                                       ///< of cuBLASLt that are tried for each
    std::int64_t buffer_bytes = std::int64_t{1} << 30;  ///< of an array in device memory, where that much is free
};

/// One timed thing: `work` in FLOP or bytes, or nothing when its time is the figure.
struct GpuFigure {
    std::string what;  ///< "bf16_matmul", "hbm_triad", "launch"
    double work = 0;   ///< of a call
    Spread spread;     ///< seconds of a call
    std::string how;   ///< "8192 x 8192 x 8192, the fastest of 8 ways of cuBLASLt, at 1.71 GHz"

    /// The highest rate that can be relied on: of the 5th percentile of the times, so that little exceeds it.
    [[nodiscard]] double rate() const { return work / spread.p5; }
};

struct GpuPeak {
    Dtype dtype = Dtype::f32;
    GpuFigure figure;
    double clock_hz = 0;   ///< during it, by the device's own counters; 0: not known
    double per_cycle = 0;  ///< of vector peaks: multiply-adds of a multiprocessor in a cycle
    int lanes = 0;         ///< and what the vendor's table gives for this architecture; 0: not known
};

struct GpuMeasurement {
    GpuProperties gpu;
    std::string software;  ///< "driver for CUDA 13.0, cuBLASLt 13.1.0, NVRTC 13.0"
    std::vector<GpuPeak> matmul;
    std::vector<GpuPeak> vector;
    std::vector<GpuFigure> hbm;  ///< read, write, copy, triad
    std::vector<GpuFigure> l2;   ///< read, by working set
    std::optional<GpuFigure> shared;
    std::vector<GpuFigure> host;      ///< host_to_device, device_to_host
    std::vector<GpuFigure> launches;  ///< seconds: from a stream, and as a node of a graph
    std::optional<double> power_limit_w;
    std::vector<std::string> notes;
};

/// All of it. Errors: interrupted; memory; a matmul whose result is wrong ("check_failed"). What the device has no kernel for is
/// left out, with a note.
[[nodiscard]] Result<GpuMeasurement> measure_gpu(Gpu& gpu, const GpuMeasureOptions& options, Progress& progress);

}  // namespace roofline::core
