#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "measure/cpu/measure_parts.hpp"
#include "measure/stop.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t page = 4096;
// Streams at the same page offset, or a power of two apart, map to the same cache sets and memory banks.
constexpr std::size_t stagger_lines = 1344;  // 21 lines
constexpr std::size_t stagger_banks = std::size_t{5} << 17;
constexpr int probed_pairs = 16;

/// One kernel with a number of threads and a working set.
struct BandwidthWork {
    BandwidthResult what;
    std::vector<PagedBuffer>* buffers = nullptr;
    std::vector<Sample> kept;
};

std::size_t array_bytes(const BandwidthWork& work) {
    const std::size_t bytes = work.what.working_set / static_cast<std::size_t>(work.what.kernel.arrays);
    return std::max(bytes / bandwidth_block, std::size_t{1}) * bandwidth_block;
}

std::size_t array_offset(std::size_t bytes, std::size_t index) {
    const std::size_t apart =
        (bytes + page - 1) / page * page + stagger_lines + (bytes > (1U << 20) ? stagger_banks : 0);
    return index * apart;
}

/// Bytes that the arrays of every kernel may take, including the gaps between them.
std::size_t buffer_bytes(std::size_t working_set) { return working_set + 3 * (page + stagger_lines + stagger_banks); }

void make_passes(const BandwidthWork& work, int worker, std::int64_t calls) {
    char* data = (*work.buffers)[static_cast<std::size_t>(worker)].data();
    const std::size_t bytes = array_bytes(work);
    char* a = data;
    const char* b = data + array_offset(bytes, 1);
    const char* c = data + array_offset(bytes, 2);
    for (std::int64_t i = 0; i < calls; ++i) {
        // the result must be used; the assembly itself is never optimised away
        const std::uint64_t read = work.what.kernel.run(a, b, c, bytes);
        asm volatile("" : : "r"(read));
    }
}

/// Writes numbers without zeros and without a bit pattern; the thread that will use the memory calls it.
void touch(char* memory, std::size_t bytes) {
    const std::size_t count = bytes / sizeof(double);
    auto* numbers = reinterpret_cast<double*>(memory);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = 1 + static_cast<double>(i * 2654435761U % 4096) / 4096;
}

/// A buffer per worker, first touched by it. The first worker, which also runs alone, has room for the whole working
/// set.
Result<std::vector<PagedBuffer>> make_buffers(WorkerTeam& team, int threads, std::size_t all, std::size_t each,
                                              Pages pages) {
    std::vector<PagedBuffer> buffers;
    for (int worker = 0; worker < threads; ++worker) {
        ROOFLINE_TRY(auto buffer, PagedBuffer::make(buffer_bytes(worker == 0 ? all : each), pages));
        buffers.push_back(std::move(buffer));
    }
    constexpr std::size_t slice = std::size_t{16} << 20;
    for (std::size_t from = 0; from < buffer_bytes(all); from += slice) {
        if (stop_requested()) return fail(interrupted());
        team.run(threads, [&](int worker) {
            const PagedBuffer& buffer = buffers[static_cast<std::size_t>(worker)];
            if (from < buffer.size()) touch(buffer.data() + from, std::min(slice, buffer.size() - from));
        });
    }
    return buffers;
}

SamplingOptions sampling_of(const CpuMeasureOptions& options) {
    SamplingOptions sampling;
    sampling.samples = options.samples;
    sampling.sample_s = options.sample_s / 2;
    sampling.warm_up_s = options.sample_s / 4;
    sampling.max_duration_s = 600;
    return sampling;
}

std::string level_text(int level) { return level == 0 ? "memory" : fmt::format("L{}", level); }

/// Takes samples of all and adds them to earlier samples.
Status sample_works(WorkerTeam& team, std::vector<BandwidthWork*>& works, const SamplingOptions& sampling,
                    SampleMeter& meter, std::vector<std::vector<Sample>>& samples) {
    std::vector<TimedCalls> timed;
    for (BandwidthWork* work : works) {
        timed.emplace_back(
            [&meter, work, inner = team_calls(team, work->what.threads, false, [work](int worker, std::int64_t calls) {
                               make_passes(*work, worker, calls);
                           })](std::int64_t calls) {
                meter.next(level_text(work->what.level) + " bandwidth: " + work->what.kernel.title);
                return inner(calls);
            });
    }
    ROOFLINE_TRY(auto sampled, take_timed_samples(timed, sampling));
    samples.clear();
    for (Sampled& each : sampled) samples.push_back(std::move(each.samples));
    return {};
}

void add_result(CpuMeasurement& measurement, BandwidthResult result, const BandwidthWork& work,
                const std::vector<Sample>& samples, double least_cpu_share) {
    if (samples.empty()) return;
    const Spread spread = spread_of(samples, least_cpu_share);
    const double bytes = static_cast<double>(array_bytes(work)) * result.kernel.visible * result.threads;
    result.rate = rate_of(spread, bytes);
    measurement.samples_tried += spread.tried;
    measurement.samples_rejected += spread.tried - spread.kept;
    measurement.bandwidths.push_back(std::move(result));
}

std::vector<BandwidthWork*> pointers(std::vector<BandwidthWork>& works) {
    std::vector<BandwidthWork*> all;
    for (BandwidthWork& work : works) all.push_back(&work);
    return all;
}

/// The kernels that move data through the caches: non-temporal accesses bypass them.
std::vector<BandwidthKernel> cache_kernels(const CpuFeatures& features) {
    std::vector<BandwidthKernel> kernels = bandwidth_kernels(features);
    std::erase_if(kernels, [](const BandwidthKernel& kernel) { return kernel.id.ends_with("_nt"); });
    return kernels;
}

/// Working sets of all caches together; a guess where the caches are not known before their latencies are.
std::size_t count_cache_sets(const CpuTopology& topology) {
    if (topology.caches.empty()) return 9;
    std::size_t sets = 0;
    std::int64_t inner_bytes = 0;
    for (const CpuCache& cache : topology.caches) {
        sets += cache_working_sets(cache, inner_bytes).size();
        inner_bytes = cache.bytes;
    }
    return sets;
}

Status measure_caches(WorkerTeam& team, const CpuMeasureOptions& options, SampleMeter& meter,
                      CpuMeasurement& measurement) {
    std::int64_t inner_bytes = 0;
    for (const CpuCache& cache : measurement.topology.caches) {
        const std::vector<std::size_t> sets = cache_working_sets(cache, inner_bytes);
        inner_bytes = cache.bytes;
        if (sets.empty()) {
            measurement.notes.push_back(fmt::format("L{} is too small for a separate working set", cache.level));
            continue;
        }
        ROOFLINE_TRY(auto buffers, make_buffers(team, measurement.threads, sets.back(), sets.back(), Pages::huge));
        std::vector<BandwidthWork> works;
        for (const std::size_t set : sets) {
            for (const BandwidthKernel& kernel : cache_kernels(measurement.features)) {
                for (const int threads : thread_counts(measurement.threads, false)) {
                    works.push_back(
                        {{cache.level, kernel, threads, set, Pages::huge, CorePlacement::single, {}}, &buffers, {}});
                }
            }
        }
        std::vector<BandwidthWork*> all = pointers(works);
        std::vector<std::vector<Sample>> samples;
        SamplingOptions sampling = sampling_of(options);
        sampling.max_duration_s = sampling_limit_s(works.size(), sampling);
        ROOFLINE_CHECK(sample_works(team, all, sampling, meter, samples));
        for (std::size_t i = 0; i < works.size(); ++i) {
            add_result(measurement, works[i].what, works[i], samples[i], sampling.least_cpu_share);
        }
    }
    return {};
}

/// Takes rounds of samples between probes of the core placement; a round in which the placement changed is discarded.
Status sample_placed(WorkerTeam& team, const CpuMeasureOptions& options, SampleMeter& meter,
                     std::vector<BandwidthWork>& works, CpuMeasurement& measurement) {
    constexpr std::size_t samples_a_round = 4;
    std::vector<BandwidthWork*> all = pointers(works);
    SamplingOptions sampling = sampling_of(options);
    sampling.warm_up_s = 0;
    std::map<CorePlacement, std::vector<std::vector<Sample>>> by_placement;
    std::size_t moved = 0;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t taken = 0; taken < options.samples; taken += samples_a_round) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        if (taken >= 2 * samples_a_round && spent.count() > options.memory_s) break;
        sampling.samples = std::min(samples_a_round, options.samples - taken);
        const CorePlacement before = placement_of(probe_cores(team, probed_pairs));
        std::vector<std::vector<Sample>> samples;
        ROOFLINE_CHECK(sample_works(team, all, sampling, meter, samples));
        measurement.core_to_core = probe_cores(team, probed_pairs);
        const CorePlacement after = placement_of(measurement.core_to_core);
        measurement.placements.push_back(after);
        if (before != after) {
            moved += sampling.samples * works.size();
            continue;
        }
        auto& lists = by_placement[after];
        lists.resize(works.size());
        for (std::size_t i = 0; i < works.size(); ++i) {
            lists[i].insert(lists[i].end(), samples[i].begin(), samples[i].end());
        }
    }
    measurement.samples_tried += moved;
    measurement.samples_rejected += moved;
    for (const auto& [placement, lists] : by_placement) {
        for (std::size_t i = 0; i < works.size(); ++i) {
            BandwidthResult result = works[i].what;
            result.placement = placement;
            add_result(measurement, result, works[i], lists[i], sampling.least_cpu_share);
        }
    }
    if (by_placement.empty()) {
        measurement.warnings.emplace_back("cores were moved during every round: there is no figure for main memory");
    }
    return {};
}

Status measure_memory(WorkerTeam& team, const CpuMeasureOptions& options, SampleMeter& meter,
                      CpuMeasurement& measurement) {
    const std::size_t all = memory_working_set(measurement.topology, usable_memory());
    const std::vector<int> counts = thread_counts(measurement.threads, options.all_thread_counts);
    const std::size_t each = counts.size() > 1 ? all / static_cast<std::size_t>(counts[1]) : all;
    ROOFLINE_TRY(auto huge, make_buffers(team, measurement.threads, all, each, Pages::huge));
    std::vector<PagedBuffer> small;
    if (options.small_pages) {
        ROOFLINE_TRY(small, make_buffers(team, measurement.threads, all, each, Pages::small));
    }
    std::vector<BandwidthWork> works;
    for (const BandwidthKernel& kernel : bandwidth_kernels(measurement.features)) {
        for (const int threads : counts) {
            const std::size_t set = all / static_cast<std::size_t>(threads);
            works.push_back({{0, kernel, threads, set, Pages::huge, CorePlacement::single, {}}, &huge, {}});
            const bool ends = threads == 1 || threads == measurement.threads;
            if (!options.small_pages || !ends || kernel.id != "read") continue;
            works.push_back({{0, kernel, threads, set, Pages::small, CorePlacement::single, {}}, &small, {}});
        }
    }
    return sample_placed(team, options, meter, works, measurement);
}

}  // namespace

std::vector<std::size_t> cache_working_sets(const CpuCache& cache, std::int64_t inner_bytes) {
    const std::int64_t share = cache.bytes / std::max(cache.cores, std::int64_t{1});
    std::vector<std::size_t> sets;
    for (const int eighths : {6, 4, 3}) {
        const std::int64_t set = share * eighths / 8;
        if (set >= 2 * inner_bytes) sets.push_back(static_cast<std::size_t>(set));
    }
    if (sets.empty()) {
        if (share > inner_bytes) sets.push_back(static_cast<std::size_t>(share * 7 / 8));
        return sets;
    }
    // the innermost level has no inner one to stay outside of: smaller sets would measure the overhead of a pass
    constexpr std::int64_t step = 4;
    for (std::int64_t set = share * 3 / 8 / step; inner_bytes > 0 && set >= 2 * inner_bytes; set /= step) {
        sets.push_back(static_cast<std::size_t>(set));
    }
    std::ranges::reverse(sets);
    return sets;
}

Status measure_bandwidths(WorkerTeam& team, const CpuMeasureOptions& options, SampleMeter& meter,
                          CpuMeasurement& measurement) {
    ROOFLINE_CHECK(measure_caches(team, options, meter, measurement));
    return measure_memory(team, options, meter, measurement);
}

double expected_samples(const CpuMeasurement& measurement, const CpuMeasureOptions& options) {
    const auto samples = static_cast<double>(options.samples);
    const auto peaks = static_cast<double>(kernels_to_measure(measurement.features).size() *
                                           thread_counts(measurement.threads, false).size());
    const auto kernels = static_cast<double>(bandwidth_kernels(measurement.features).size());
    const auto caches =
        static_cast<double>(count_cache_sets(measurement.topology) * cache_kernels(measurement.features).size() *
                            thread_counts(measurement.threads, false).size());
    const auto counts = static_cast<double>(thread_counts(measurement.threads, options.all_thread_counts).size());
    // latencies take seven samples each; every measurement takes a few more to warm up
    return peaks * (samples + 3) + 10.0 * (options.latency_points + 4) + caches * (samples + 4) +
           kernels * (counts + 1) * samples * 1.7;
}

}  // namespace roofline::core
