// Measures a GPU: peaks by dtype, bandwidth of each memory level, launch overhead, and the link to the host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/gpu/gpu.hpp"
#include "measure/progress.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

struct GpuMeasureOptions {
    SamplingOptions sampling;                           ///< for each figure
    std::vector<std::int64_t> sides;                    ///< sizes of square matmuls
    int ways = 8;                                       ///< number of cuBLASLt algorithms that are tried for each
    std::int64_t buffer_bytes = std::int64_t{1} << 30;  ///< size of an array in device memory, if that much is free
};

/// One measurement. `work` is FLOPs or bytes; 0 if the time itself is the figure.
struct GpuFigure {
    std::string what;  ///< "bf16_matmul", "hbm_triad", "launch"
    double work = 0;   ///< per call
    Spread spread;     ///< seconds per call
    std::string how;   ///< "8192 x 8192 x 8192, the fastest of 8 ways of cuBLASLt, at 1.71 GHz"

    /// The highest reliable rate: that of the 5th percentile of the times, so that reality rarely exceeds it.
    [[nodiscard]] double rate() const { return work / spread.p5; }
};

struct GpuPeak {
    Dtype dtype = Dtype::f32;
    GpuFigure figure;
    double clock_hz = 0;   ///< during the measurement, by the device's own counters; 0: unknown
    double per_cycle = 0;  ///< of vector peaks: multiply-adds per cycle and multiprocessor
    int lanes = 0;         ///< the same from the vendor's table for this architecture; 0: unknown
};

struct GpuMeasurement {
    GpuProperties gpu;
    std::string software;  ///< "driver for CUDA 13.0, cuBLASLt 13.1.0, NVRTC 13.0"
    std::vector<GpuPeak> matmul;
    std::vector<GpuPeak> vector;
    std::vector<GpuFigure> hbm;  ///< read, write, copy, triad
    std::vector<GpuFigure> l2;   ///< reads, by working set
    std::optional<GpuFigure> shared;
    std::vector<GpuFigure> host;      ///< host_to_device, device_to_host
    std::vector<GpuFigure> launches;  ///< seconds: from a stream, and as a node of a graph
    std::optional<double> power_limit_w;
    std::vector<std::string> notes;
};

/// Measures everything. Errors: interrupted; memory; a matmul with a wrong result ("check_failed"). Dtypes for which
/// the device has no kernel are omitted with a note.
[[nodiscard]] Result<GpuMeasurement> measure_gpu(Gpu& gpu, const GpuMeasureOptions& options, Progress& progress);

}  // namespace roofline::core
