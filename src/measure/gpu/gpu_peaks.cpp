// Measures peaks: multiply-adds in registers, and matmuls by cuBLASLt.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "measure/gpu/gpu_kernels.hpp"
#include "measure/gpu/gpu_matmul.hpp"
#include "measure/gpu/gpu_probe.hpp"
#include "measure/stop.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

/// Multiply-adds per cycle and multiprocessor: NVIDIA, CUDA C++ Programming Guide, "Arithmetic Instructions". 0: not
/// listed.
struct GpuLanes {
    int capability;
    int f64, f32, f16;
};
constexpr GpuLanes vendor_lanes[] = {
    {60, 32, 64, 128}, {61, 4, 128, 2},   {70, 32, 64, 128}, {75, 2, 64, 128},
    {80, 32, 64, 256}, {86, 2, 128, 128}, {89, 2, 128, 128}, {90, 64, 128, 256},
};

int lanes_of(int capability, Dtype dtype) {
    for (const GpuLanes& row : vendor_lanes) {
        if (row.capability != capability) continue;
        return dtype == Dtype::f64 ? row.f64 : dtype == Dtype::f32 ? row.f32 : dtype == Dtype::f16 ? row.f16 : 0;
    }
    return 0;
}

constexpr unsigned peak_threads = 256;
constexpr int peak_rounds = 1000;

/// `numbers` is the count per register. `a` and `b` are the kernel's arguments: x = x a + b stays near 1.
template <class Number>
Status measure_vector_peak(GpuProbe& probe, Dtype dtype, const char* name, int numbers, Number a, Number b) {
    Gpu& gpu = probe.gpu;
    ROOFLINE_TRY(auto kernel, gpu.kernel(name));
    ROOFLINE_TRY(auto resident, gpu.resident_blocks(kernel, peak_threads));
    const unsigned blocks = resident * static_cast<unsigned>(gpu.properties().multiprocessors);
    const double fmas = static_cast<double>(blocks) * peak_threads * peak_rounds * fmas_per_round * numbers;
    ROOFLINE_TRY(auto out, gpu.allocate(std::size_t{blocks} * peak_threads * sizeof(Number)));
    auto figure =
        probe.figure(fmt::format("{}_fma", roofline::core::name(dtype)), 2 * fmas, [&](std::int64_t calls) -> Status {
            for (std::int64_t i = 0; i < calls; ++i) {
                auto status =
                    gpu.launch(kernel, blocks, peak_threads, out.device(), peak_rounds, a, b, probe.clock_at());
                if (!status) return status;
            }
            return {};
        });
    if (!figure) return fail(figure.error());
    ROOFLINE_TRY(auto clock, probe.clock_written());
    GpuPeak peak{dtype, std::move(*figure), clock, 0, lanes_of(gpu.properties().capability(), dtype)};
    if (clock > 0) {
        peak.per_cycle = peak.figure.rate() / 2 / clock / gpu.properties().multiprocessors;
        peak.figure.how =
            fmt::format("{} multiply-adds per cycle and multiprocessor{} at {}", number_text(peak.per_cycle, 4),
                        peak.lanes > 0 ? fmt::format(" of {}", peak.lanes) : "", to_text(Frequency{clock}));
    }
    if (peak.lanes > 0 && clock > 0 && std::abs(peak.per_cycle / peak.lanes - 1) > 0.03) {
        probe.result.notes.push_back(
            fmt::format("{} in registers ran at {} % of the {} multiply-adds per cycle of this architecture: something "
                        "else used the GPU, or its "
                        "clock changed during the measurement",
                        roofline::core::name(dtype), percent_text(peak.per_cycle / peak.lanes), peak.lanes));
    }
    probe.result.vector.push_back(std::move(peak));
    return {};
}

/// Tolerance of a sum: a fraction of the sum of its terms' magnitudes, plus a fraction of the result if that is
/// rounded.
struct SumError {
    double of_terms;
    double of_result;
};
SumError allowed_error(Dtype dtype) {
    switch (dtype) {
        case Dtype::f64:
            return {1e-12, 0};
        case Dtype::f32:
            return {1e-5, 0};
        case Dtype::tf32:
            return {2e-3, 0};
        case Dtype::f16:
            return {1e-4, 0x1p-10};
        case Dtype::bf16:
            return {1e-4, 0x1p-8};
        case Dtype::fp8:
            return {5e-3, 0x1p-8};
        default:
            return {0, 0};
    }
}

/// A square matmul on the device. Both operands are contiguous along the summed dimension, the layout for which every
/// dtype has kernels.
struct SquareMatmul {
    const GpuMatmulType& type;
    std::int64_t side;
    GpuMemory a, b, c;
};

Result<SquareMatmul> allocate_square(Gpu& gpu, const GpuMatmulType& type, std::int64_t side) {
    const auto elements = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
    SquareMatmul square{type, side, {}, {}, {}};
    std::uint64_t seed = 1;
    for (GpuMemory* memory : {&square.a, &square.b, &square.c}) {
        const cuda::DataType held = memory == &square.c ? type.result_type : type.operand_type;
        ROOFLINE_TRY(*memory, gpu.allocate(elements * gpu_bytes(held)));
        ROOFLINE_CHECK(fill_randomly(gpu, memory->device(), memory->bytes(), seed, gpu_pattern(held)));
        seed += elements;
    }
    return square;
}

/// Recomputes some elements on the host in double precision: a wrong result would invalidate every rate.
Status check_matmul(Gpu& gpu, const SquareMatmul& square) {
    const std::size_t operand = gpu_bytes(square.type.operand_type);
    const std::size_t stored = gpu_bytes(square.type.result_type);
    const auto side = static_cast<std::size_t>(square.side);
    std::vector<unsigned char> row(side * operand);
    std::vector<unsigned char> column(side * operand);
    for (std::size_t probe = 0; probe < 8; ++probe) {
        const std::size_t i = (probe * 2654435761U + 17) % side;
        const std::size_t j = (probe * 40503U + 5) % side;
        unsigned char element[8] = {};
        ROOFLINE_CHECK(gpu.download(row.data(), square.a.device() + i * row.size(), row.size()));
        ROOFLINE_CHECK(gpu.download(column.data(), square.b.device() + j * column.size(), column.size()));
        ROOFLINE_CHECK(gpu.download(element, square.c.device() + (i * side + j) * stored, stored));
        double sum = 0;
        double sizes = 0;
        for (std::size_t l = 0; l < side; ++l) {
            const double term = gpu_number(square.type.operand_type, &row[l * operand]) *
                                gpu_number(square.type.operand_type, &column[l * operand]);
            sum += term;
            sizes += std::abs(term);
        }
        const double found = gpu_number(square.type.result_type, element);
        const SumError allowed = allowed_error(square.type.dtype);
        if (!(std::abs(found - sum) <= allowed.of_terms * sizes + allowed.of_result * std::abs(sum))) {
            return fail(
                "check_failed",
                fmt::format("a {} matmul on the GPU is wrong: element [{}, {}] of {} x {} is {} but should be {}",
                            name(square.type.dtype), i, j, side, side, found, sum),
                "no result of this GPU can be trusted; check dmesg for Xid errors");
        }
    }
    return {};
}

/// Finds the fastest algorithm with one timed call each, after an untimed call.
Result<std::pair<std::size_t, double>> fastest_way(Gpu& gpu, GpuMatmul& matmul, const SquareMatmul& square) {
    std::pair<std::size_t, double> best{0, 0};
    for (std::size_t way = 0; way < matmul.ways(); ++way) {
        if (stop_requested()) return fail(interrupted());
        const auto once = [&] { return matmul.run(square.a.device(), square.b.device(), square.c.device(), way); };
        auto seconds = gpu.time(once);
        if (seconds) seconds = gpu.time(once);
        if (!seconds) return fail(seconds.error());
        if (way == 0 || *seconds < best.second) best = {way, *seconds};
    }
    return best;
}

constexpr double longest_call_s = 0.5;

/// Measures one size. None if the device has no kernel for it; `seconds` receives the time of a call.
Result<std::optional<GpuFigure>> measure_square(GpuProbe& probe, const GpuMatmulType& type, std::int64_t side,
                                                double& seconds) {
    Gpu& gpu = probe.gpu;
    GpuMatmulShape shape{side, side, side, true, true, side, side, side};
    auto matmul = GpuMatmul::make(gpu, type, shape, probe.options.ways);
    if (!matmul && matmul.error().code == "unsupported") return std::nullopt;
    if (!matmul) return fail(matmul.error());
    ROOFLINE_TRY(auto square, allocate_square(gpu, type, side));
    ROOFLINE_TRY(auto best, fastest_way(gpu, *matmul, square));
    ROOFLINE_CHECK(check_matmul(gpu, square));
    seconds = best.second;
    const double n = static_cast<double>(side);
    const auto multiply = [&](std::int64_t calls) -> Status {
        for (std::int64_t call = 0; call < calls; ++call) {
            ROOFLINE_CHECK(matmul->run(square.a.device(), square.b.device(), square.c.device(), best.first));
        }
        return {};
    };
    ROOFLINE_TRY(auto figure,
                 probe.figure(fmt::format("{}_matmul_{}", name(type.dtype), side), 2 * n * n * n, multiply));
    // read while the device is busy because nothing limits the clock of an idle device
    const auto calls = static_cast<std::int64_t>(std::clamp(0.05 / figure.spread.median, 1.0, 1000.0));
    ROOFLINE_CHECK(multiply(calls));
    probe.clock_limits |= probe.management.clock_limits();
    ROOFLINE_CHECK(gpu.synchronize());
    figure.how =
        fmt::format("[{0}, {0}] x [{0}, {0}], the fastest of {1} algorithms of cuBLASLt", side, matmul->ways());
    return figure;
}

Status measure_matmul_peak(GpuProbe& probe, const GpuMatmulType& type, double share) {
    Gpu& gpu = probe.gpu;
    std::optional<GpuPeak> best;
    double seconds = 0;
    for (const std::int64_t side : probe.options.sides) {
        probe.at(fmt::format("{} matmul, {}", name(type.dtype), side), share);
        ROOFLINE_TRY(auto free, gpu.free_memory());
        const std::int64_t need =
            side * side * static_cast<std::int64_t>(2 * gpu_bytes(type.operand_type) + gpu_bytes(type.result_type));
        if (need > free - free / 4 || 8 * seconds > longest_call_s) break;
        ROOFLINE_TRY(auto figure, measure_square(probe, type, side, seconds));
        if (!figure) break;
        ROOFLINE_TRY(auto clock, probe.clock_after());
        if (best && best->figure.rate() >= (figure)->rate()) continue;
        best = GpuPeak{type.dtype, std::move(*figure), clock, 0, 0};
        if (clock > 0) best->figure.how += " at " + to_text(Frequency{clock});
    }
    if (best) {
        probe.result.matmul.push_back(std::move(*best));
    } else {
        probe.result.notes.push_back(
            fmt::format("no {} matmul: cuBLASLt has none for this device, or its memory is full", name(type.dtype)));
    }
    return {};
}

}  // namespace

Status measure_vector_peaks(GpuProbe& probe) {
    const int capability = probe.gpu.properties().capability();
    probe.at("multiply-adds in registers", 0.36);
    ROOFLINE_CHECK(measure_vector_peak(probe, Dtype::f32, "peak_f32", 1, 0.999F, 0.001F));
    ROOFLINE_CHECK(measure_vector_peak(probe, Dtype::f64, "peak_f64", 1, 0.999, 0.001));
    // 0.999 and 0.001, twice in a register: 0x3BFE and 0x1419 in f16, 0x3F80 (which is 1) and 0x3A83 in bf16
    if (capability >= 53) {
        ROOFLINE_CHECK(measure_vector_peak(probe, Dtype::f16, "peak_f16x2", 2, std::uint32_t{0x3BFE3BFE},
                                           std::uint32_t{0x14191419}));
    }
    if (capability < 80) return {};
    return measure_vector_peak(probe, Dtype::bf16, "peak_bf16x2", 2, std::uint32_t{0x3F803F80},
                               std::uint32_t{0x3A833A83});
}

Status measure_matmul_peaks(GpuProbe& probe) {
    const auto& types = gpu_matmul_types();
    double share = 0.45;
    for (const GpuMatmulType& type : types) {
        ROOFLINE_CHECK(measure_matmul_peak(probe, type, share));
        share += 0.54 / static_cast<double>(types.size());
    }
    return {};
}

}  // namespace roofline::core
