// Measures device memory, L2, shared memory, the link to the host, and kernel launches.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "measure/gpu/gpu_kernels.hpp"
#include "measure/gpu/gpu_probe.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr unsigned bandwidth_threads = 512;
constexpr std::uint64_t element_bytes = 16;
/// Bytes per cycle of a multiprocessor's shared memory: 32 banks of 4 bytes (NVIDIA, CUDA C++ Programming Guide,
/// "Shared Memory", since compute capability 5.0).
constexpr double bank_bytes_per_cycle = 128;
/// Tolerance above the bank rate: the rate is that of the fastest samples but the clock that of the last sample, which
/// a power limit may have lowered slightly.
constexpr double max_bank_fraction = 1.1;

/// A kernel and the grid that fills the device once.
struct FullGrid {
    GpuKernel kernel;
    unsigned blocks = 1;
    unsigned threads = 1;
    [[nodiscard]] double all() const { return static_cast<double>(blocks) * threads; }
};

Result<FullGrid> full_grid(const Gpu& gpu, const std::string& name, unsigned threads) {
    ROOFLINE_TRY(auto kernel, gpu.kernel(name));
    ROOFLINE_TRY(auto blocks, gpu.resident_blocks(kernel, threads));
    return FullGrid{kernel, blocks * static_cast<unsigned>(gpu.properties().multiprocessors), threads};
}

template <class... Arguments>
std::function<Status(std::int64_t)> launches_of(Gpu& gpu, const FullGrid& grid, Arguments... arguments) {
    return [&gpu, grid, arguments...](std::int64_t calls) -> Status {
        for (std::int64_t i = 0; i < calls; ++i) {
            ROOFLINE_CHECK(gpu.launch(grid.kernel, grid.blocks, grid.threads, arguments...));
        }
        return {};
    };
}

std::string capacity_of(std::uint64_t bytes) { return capacity_text(Bytes{static_cast<double>(bytes)}); }

/// Stores a figure, or passes the error on.
Status keep_in(std::vector<GpuFigure>& figures, Result<GpuFigure> figure, const std::string& how) {
    if (!figure) return fail(figure.error());
    figure->how = how;
    figures.push_back(std::move(*figure));
    return {};
}

Status measure_device_memory(GpuProbe& probe) {
    Gpu& gpu = probe.gpu;
    ROOFLINE_TRY(auto free, gpu.free_memory());
    const std::int64_t l2 = gpu.properties().l2_bytes;
    const std::int64_t wanted = std::max(probe.options.buffer_bytes, 4 * l2);
    const auto bytes = static_cast<std::uint64_t>(std::min(wanted, free / 8)) / 4096 * 4096;
    if (bytes < 4096)
        return fail("memory", "the GPU has almost no free memory",
                    "end other programs that use it (nvidia-smi lists them)");
    if (static_cast<std::int64_t>(bytes) < 4 * l2) {
        probe.result.notes.push_back(
            fmt::format("free memory allowed only arrays of {} each for the bandwidth measurement: the L2 holds {}",
                        capacity_of(bytes), capacity_of(static_cast<std::uint64_t>(l2))));
    }
    GpuMemory arrays[3];
    for (GpuMemory& array : arrays) {
        ROOFLINE_TRY(array, gpu.allocate(bytes));
        ROOFLINE_CHECK(fill_randomly(gpu, array.device(), bytes, bytes, gpu_pattern(cuda::real_f32)));
    }
    const auto x = arrays[0].device();
    const auto y = arrays[1].device();
    const auto z = arrays[2].device();
    const std::uint64_t count = bytes / element_bytes;
    const std::string how = fmt::format("arrays of {}", capacity_of(bytes));
    const auto measured = [&](const char* kernel, double share, int passes, auto... arguments) -> Status {
        probe.at(fmt::format("memory: {}", kernel), share);
        ROOFLINE_TRY(auto grid, full_grid(gpu, fmt::format("{}_memory", kernel), bandwidth_threads));
        return keep_in(probe.result.hbm,
                       probe.figure(fmt::format("hbm_{}", kernel), passes * static_cast<double>(bytes),
                                    launches_of(gpu, grid, arguments...)),
                       how);
    };
    ROOFLINE_CHECK(measured("read", 0.06, 1, x, count, probe.scratch.device()));
    ROOFLINE_CHECK(measured("copy", 0.10, 2, y, x, count));
    ROOFLINE_CHECK(measured("triad", 0.14, 3, z, x, y, count, 0.5F));
    return measured("write", 0.18, 1, x, count, 0.5F);
}

Status measure_l2(GpuProbe& probe) {
    Gpu& gpu = probe.gpu;
    const std::int64_t l2 = gpu.properties().l2_bytes;
    if (l2 < 1 << 16) {
        probe.result.notes.emplace_back("the device reports no L2");
        return {};
    }
    const std::uint64_t most = std::bit_floor(static_cast<std::uint64_t>(l2) / 2);
    ROOFLINE_TRY(auto memory, gpu.allocate(most));
    ROOFLINE_CHECK(fill_randomly(gpu, memory.device(), most, 7, gpu_pattern(cuda::real_f32)));
    ROOFLINE_TRY(auto grid, full_grid(gpu, "read_l2", bandwidth_threads));
    const int rounds = 16;
    for (std::uint64_t bytes = most; bytes >= most / 4; bytes /= 2) {
        probe.at("L2: read", 0.22);
        const double work = grid.all() * rounds * loads_per_round * static_cast<double>(element_bytes);
        ROOFLINE_CHECK(keep_in(probe.result.l2,
                               probe.figure(fmt::format("l2_read_{}KiB", bytes >> 10), work,
                                            launches_of(gpu, grid, memory.device(), bytes / element_bytes - 1, rounds,
                                                        probe.scratch.device())),
                               fmt::format("a working set of {}", capacity_of(bytes))));
    }
    return {};
}

Status measure_shared(GpuProbe& probe) {
    probe.at("shared memory: read", 0.26);
    ROOFLINE_TRY(auto grid, full_grid(probe.gpu, "read_shared", 256));
    const int rounds = 500;
    const double work = grid.all() * rounds * loads_per_round * static_cast<double>(element_bytes);
    ROOFLINE_TRY(auto figure,
                 probe.figure("shared_read", work,
                              launches_of(probe.gpu, grid, rounds, probe.scratch.device(), probe.clock_at())));
    ROOFLINE_TRY(auto clock, probe.clock_written());
    if (clock > 0) {
        const double per_cycle = figure.rate() / clock / probe.gpu.properties().multiprocessors;
        figure.how = fmt::format("{} bytes per cycle and multiprocessor of {} at {}", number_text(per_cycle, 4),
                                 bank_bytes_per_cycle, to_text(Frequency{clock}));
        if (per_cycle > max_bank_fraction * bank_bytes_per_cycle) {
            probe.result.notes.push_back(fmt::format(
                "shared memory is omitted: {}, more than its banks deliver, so some data was not read or the "
                "clock changed during the measurement",
                figure.how));
            return {};
        }
    }
    probe.result.shared = std::move(figure);
    return {};
}

Status measure_host_link(GpuProbe& probe) {
    Gpu& gpu = probe.gpu;
    constexpr std::size_t most = std::size_t{256} << 20;
    ROOFLINE_TRY(auto free, gpu.free_memory());
    const std::size_t bytes = std::min(most, static_cast<std::size_t>(free) / 4) / 4096 * 4096;
    ROOFLINE_TRY(auto device, gpu.allocate(bytes));
    auto host = gpu.allocate_host(bytes);
    if (!host) {
        probe.result.notes.push_back("the link to the host was not measured: " + host.error().message);
        return {};
    }
    const CudaDriver& driver = gpu.libraries().driver;
    const auto copies = [&](bool up) {
        return [&, up](std::int64_t calls) -> Status {
            for (std::int64_t i = 0; i < calls; ++i) {
                const int code = up ? driver.to_device(device.device(), host->host(), bytes, gpu.stream())
                                    : driver.to_host(host->host(), device.device(), bytes, gpu.stream());
                if (code != cuda::success) return fail(gpu.error(code, "copying"));
            }
            return {};
        };
    };
    const std::string how = fmt::format("pinned memory, {} per copy", capacity_of(bytes));
    probe.at("to the device", 0.3);
    const auto work = static_cast<double>(bytes);
    ROOFLINE_CHECK(keep_in(probe.result.host, probe.figure("host_to_device", work, copies(true)), how));
    probe.at("to the host", 0.32);
    return keep_in(probe.result.host, probe.figure("device_to_host", work, copies(false)), how);
}

/// A CUDA graph; the destructor destroys it.
struct LaunchGraph {
    const CudaDriver& driver;
    cuda::Handle graph = nullptr;
    cuda::Handle exec = nullptr;

    explicit LaunchGraph(const CudaDriver& functions) : driver(functions) {}
    LaunchGraph(const LaunchGraph&) = delete;
    LaunchGraph& operator=(const LaunchGraph&) = delete;
    ~LaunchGraph() {
        if (exec != nullptr) driver.graph_exec_destroy(exec);
        if (graph != nullptr) driver.graph_destroy(graph);
    }
};

}  // namespace

Status measure_launches(GpuProbe& probe) {
    Gpu& gpu = probe.gpu;
    constexpr std::int64_t nodes = 64;
    probe.at("launches", 0.02);
    ROOFLINE_TRY(auto kernel, gpu.kernel("empty"));
    const FullGrid one{kernel, 1, 32};
    auto status = keep_in(probe.result.launches, probe.figure("launch", 0, launches_of(gpu, one)),
                          "an empty kernel after another in a stream");
    if (!status) return status;
    const CudaDriver& driver = gpu.libraries().driver;
    LaunchGraph graph(driver);
    int code = driver.capture_begin(gpu.stream(), cuda::capture_thread_local);
    if (code != cuda::success) return fail(gpu.error(code, "recording a graph"));
    status = launches_of(gpu, one)(nodes);
    code = driver.capture_end(gpu.stream(), &graph.graph);
    if (!status) return status;
    if (code == cuda::success) code = driver.graph_instantiate(&graph.exec, graph.graph, 0);
    if (code != cuda::success) return fail(gpu.error(code, "recording a graph"));
    auto figure = probe.figure("graph_launch", 0, [&](std::int64_t calls) -> Status {
        for (std::int64_t i = 0; i < calls; ++i) {
            const int result = driver.graph_launch(graph.exec, gpu.stream());
            if (result != cuda::success) return fail(gpu.error(result, "starting a graph"));
        }
        return {};
    });
    if (!figure) return fail(figure.error());
    for (double* time : {&figure->spread.median, &figure->spread.p5, &figure->spread.p95, &figure->spread.best})
        *time /= nodes;
    return keep_in(probe.result.launches, std::move(figure),
                   fmt::format("an empty kernel as one of {} nodes of a graph", nodes));
}

Status measure_bandwidths(GpuProbe& probe) {
    ROOFLINE_CHECK(measure_device_memory(probe));
    ROOFLINE_CHECK(measure_l2(probe));
    ROOFLINE_CHECK(measure_shared(probe));
    return measure_host_link(probe);
}

}  // namespace roofline::core
