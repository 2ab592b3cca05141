#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "measure/cpu/measure_cpu.hpp"
#include "measure/cpu/measure_parts.hpp"
#include "measure/stop.hpp"

namespace roofline::core {

namespace {

constexpr double steady_clock_spread = 0.03;

/// A kernel and a thread count, with their samples.
struct PeakWork {
    const PeakKernel* kernel = nullptr;
    int threads = 1;
    std::vector<PeakRun> runs;
    std::vector<char> right;
};

Status failed_check(const PeakKernel& kernel) {
    return fail("check_failed",
                fmt::format("{} ({}) computed a wrong result: the processor or its memory is faulty, or the "
                            "operating system does not save its registers",
                            kernel.id, kernel.instructions),
                "run `roofline measure cpu` again; if the result is wrong again, the hardware is defective");
}

void set_clock(PeakResult& result, const std::vector<Sample>& samples, double least_cpu_share, double ops_per_call) {
    std::vector<double> clocks;
    std::vector<double> per_cycle;
    for (const Sample& sample : samples) {
        if (sample.hertz <= 0 || (!result.rate.disturbed && !clean(sample, least_cpu_share))) continue;
        clocks.push_back(sample.hertz);
        per_cycle.push_back(ops_per_call / sample.seconds / sample.hertz / result.threads);
    }
    if (clocks.empty()) return;
    std::sort(clocks.begin(), clocks.end());
    std::sort(per_cycle.begin(), per_cycle.end());
    // a late probe may see a core whose clock has risen again
    result.hertz = quantile(clocks, 0.1);
    result.clock_spread = quantile(clocks, 0.95) / quantile(clocks, 0.05) - 1;
    result.ops_per_cycle = quantile(per_cycle, 0.95);
}

PeakResult result_of(const PeakWork& work, const Sampled& sampled, const CpuFeatures& features, double least_share) {
    PeakResult result;
    result.kernel = *work.kernel;
    result.threads = work.threads;
    const double ops = work.kernel->ops_per_pass * static_cast<double>(passes_between_checks) * work.threads;
    result.rate = rate_of(sampled.spread, ops);
    set_clock(result, sampled.samples, least_share, ops);
    result.port = judge_port_rate(*work.kernel, port_rates(features, *work.kernel), result.ops_per_cycle);
    result.refusal = refusal_of(result);
    return result;
}

PeakWork work_of(const PeakKernel& kernel, int threads) {
    PeakWork work{&kernel, threads, {}, std::vector<char>(static_cast<std::size_t>(threads), 1)};
    for (int worker = 0; worker < threads; ++worker) work.runs.emplace_back(kernel);
    return work;
}

/// Errors: the kernel computes a wrong result.
TimedCalls checked_calls(WorkerTeam& team, PeakWork& work) {
    return [&work, inner = team_calls(team, work.threads, true, [&work](int worker, std::int64_t calls) {
                       const auto index = static_cast<std::size_t>(worker);
                       for (std::int64_t i = 0; i < calls; ++i) {
                           if (!work.runs[index].make(passes_between_checks)) work.right[index] = 0;
                       }
                   })](std::int64_t calls) -> Result<Sample> {
        auto sample = inner(calls);
        for (const char right : work.right) {
            if (right == 0) return fail(failed_check(*work.kernel).error());
        }
        return sample;
    };
}

/// Identifies kernels that use the same ports.
std::string ports_of(const PeakKernel& kernel) {
    return kernel.title == "FMA" ? fmt::format("FMA {}", kernel.register_bytes) : kernel.id;
}

}  // namespace

TimedCalls team_calls(WorkerTeam& team, int threads, bool clock,
                      std::function<void(int worker, std::int64_t calls)> calls) {
    return [&team, threads, clock, make = std::move(calls)](std::int64_t count) -> Result<Sample> {
        Sample sample = team.run(threads, [&](int worker) { make(worker, count); }, clock);
        sample.seconds /= static_cast<double>(count);
        return sample;
    };
}

double sampling_limit_s(std::size_t works, const SamplingOptions& sampling) {
    const auto samples = static_cast<double>(works * (sampling.samples + 1));
    return 3 * samples * sampling.sample_s;
}

std::vector<int> thread_counts(int threads, bool powers_between) {
    std::vector<int> counts{1};
    for (int count = 2; powers_between && count < threads; count *= 2) counts.push_back(count);
    if (threads > 1) counts.push_back(threads);
    return counts;
}

std::string refusal_of(const PeakResult& peak) {
    if (peak.port.known) return "";
    if (peak.rate.disturbed) return "other processes disturbed too many samples";
    if (peak.clock_spread > steady_clock_spread) return "the clock changed while it ran (throttling or boost)";
    if (peak.port.share > 1) return "above every rate that the ports allow: the measured clock was too low";
    return "below what the ports can do: another thread ran on the same core, or registers were spilled";
}

void reconcile_ports(std::vector<PeakResult>& peaks) {
    std::map<std::string, const PeakResult*> fastest;
    for (const PeakResult& peak : peaks) {
        const PeakResult*& most = fastest[ports_of(peak.kernel)];
        const double instructions = peak.port.instructions * peak.port.share;
        if (most == nullptr || instructions > most->port.instructions * most->port.share) most = &peak;
    }
    std::map<std::string, double> shown;
    for (const auto& [ports, peak] : fastest) {
        const PortVerdict& port = peak->port;
        if (port.instructions > 0 && (port.known || port.sure)) shown[ports] = port.instructions;
    }
    for (PeakResult& peak : peaks) {
        const auto ports = shown.find(ports_of(peak.kernel));
        if (ports == shown.end()) continue;
        peak.port = judge_port_rate(peak.kernel, {ports->second}, peak.ops_per_cycle);
        peak.refusal = refusal_of(peak);
    }
}

std::vector<PeakKernel> kernels_to_measure(const CpuFeatures& features) {
    const bool wide = features.has(CpuFeature::avx512);
    const bool dot = features.has(CpuFeature::avx512_vnni) || features.has(CpuFeature::avx_vnni);
    const bool named = features.has(CpuFeature::avx2_fma) || features.has(CpuFeature::neon);
    std::vector<PeakKernel> chosen;
    for (PeakKernel& kernel : peak_kernels(features)) {
        const bool narrower = wide && kernel.unit == Unit::vector && kernel.needs == CpuFeature::avx2_fma;
        const bool stand_in = dot && kernel.instructions.starts_with("vpmaddubsw");
        const bool plain = named && kernel.needs == CpuFeature::none;
        if (!narrower && !stand_in && !plain) chosen.push_back(std::move(kernel));
    }
    return chosen;
}

Status measure_peaks(WorkerTeam& team, const CpuMeasureOptions& options, SampleMeter& meter,
                     CpuMeasurement& measurement) {
    const std::vector<PeakKernel> kernels = kernels_to_measure(measurement.features);
    std::vector<PeakWork> works;
    for (const PeakKernel& kernel : kernels) {
        for (const int threads : thread_counts(measurement.threads, false)) works.push_back(work_of(kernel, threads));
    }
    std::vector<TimedCalls> timed;
    for (PeakWork& work : works) {
        timed.emplace_back([&meter, &work, inner = checked_calls(team, work)](std::int64_t calls) -> Result<Sample> {
            meter.next("peaks: " + work.kernel->title + " " + std::string(name(work.kernel->dtype)));
            return inner(calls);
        });
    }
    SamplingOptions sampling;
    sampling.samples = options.samples;
    sampling.sample_s = options.sample_s;
    sampling.warm_up_s = options.sample_s;
    sampling.max_duration_s = sampling_limit_s(works.size(), sampling);
    ROOFLINE_TRY(auto sampled, take_timed_samples(timed, sampling));
    for (std::size_t i = 0; i < works.size(); ++i) {
        const Sampled& each = (sampled)[i];
        measurement.peaks.push_back(result_of(works[i], each, measurement.features, sampling.least_cpu_share));
        measurement.samples_tried += each.spread.tried;
        measurement.samples_rejected += each.spread.tried - each.spread.kept;
    }
    reconcile_ports(measurement.peaks);
    std::vector<double> clocks;
    for (const PeakResult& peak : measurement.peaks) clocks.push_back(peak.hertz);
    std::sort(clocks.begin(), clocks.end());
    if (!clocks.empty()) measurement.hertz = quantile(clocks, 0.5);
    return {};
}

Result<double> peak_now(const CpuMeasurement& measurement, const CpuMeasureOptions& options, Dtype dtype) {
    const PeakResult* peak = best_peak(measurement, Unit::matmul, dtype, measurement.threads);
    if (peak == nullptr) return 0.0;
    WorkerTeam team;
    ROOFLINE_CHECK(team.start(measurement.topology.cpus));
    PeakWork work = work_of(peak->kernel, measurement.threads);
    SamplingOptions sampling;
    sampling.sample_s = options.sample_s;
    sampling.max_duration_s = sampling_limit_s(1, sampling);
    ROOFLINE_TRY(auto sampled, take_timed_samples({checked_calls(team, work)}, sampling));
    return result_of(work, sampled.front(), measurement.features, sampling.least_cpu_share).rate.p95;
}

}  // namespace roofline::core
