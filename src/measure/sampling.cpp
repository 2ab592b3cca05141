#include "measure/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measure/sample_watch.hpp"
#include "measure/stop.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t least_samples = 3;
constexpr std::int64_t most_calls = std::int64_t{1} << 40;

using Work = std::function<Status(std::int64_t calls)>;

Result<Sample> one_sample(const Work& work, std::int64_t calls, int threads) {
    const SampleWatch watch;
    ROOFLINE_CHECK(work(calls));
    return watch.read(calls, threads);
}

Status go_on(const SamplingOptions& options) {
    if (!options.together && stop_requested()) return fail(interrupted());
    return {};
}

/// Warms up and determines how many calls fill a sample. `spent` receives the time that it took.
Result<std::int64_t> calls_for(const TimedCalls& work, const SamplingOptions& options, double& spent) {
    std::int64_t calls = 1;
    double warmed = 0;
    double least = 1e9;
    while (true) {
        ROOFLINE_CHECK(go_on(options));
        ROOFLINE_TRY(auto sample, work(calls));
        const double took = sample.seconds * static_cast<double>(calls);
        warmed += took;
        // uses the fastest sample so far, because a delayed one would make all samples too short
        least = std::min(least, sample.seconds);
        const double wanted = options.sample_s / std::max(least, 1e-10);
        const auto next = static_cast<std::int64_t>(std::clamp(wanted, 1.0, static_cast<double>(most_calls)));
        // if the clock hardly advanced, the number of calls cannot be estimated yet
        const bool known = took > options.sample_s / 8 || next == 1;
        calls = known ? next : std::min(next, calls * 16);
        if (!known || (warmed < options.warm_up_s && warmed < options.max_duration_s / 4)) continue;
        spent += warmed;
        return calls;
    }
}

}  // namespace

double quantile(const std::vector<double>& sorted, double share) {
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Spread spread_of(const std::vector<Sample>& samples, double least_cpu_share) {
    std::vector<double> undisturbed;
    std::vector<double> all;
    for (const Sample& sample : samples) {
        all.push_back(sample.seconds);
        if (clean(sample, least_cpu_share)) undisturbed.push_back(sample.seconds);
    }
    Spread spread;
    spread.tried = all.size();
    spread.disturbed = 2 * undisturbed.size() < all.size();
    std::vector<double>& used = spread.disturbed ? all : undisturbed;
    std::sort(used.begin(), used.end());
    spread.kept = undisturbed.size();
    spread.median = quantile(used, 0.5);
    spread.p5 = quantile(used, 0.05);
    spread.p95 = quantile(used, 0.95);
    spread.best = used.front();
    return spread;
}

bool clean(const Sample& sample, double least_cpu_share) {
    return sample.cpu_share >= least_cpu_share && sample.stolen_s <= 0;
}

Result<std::vector<Sampled>> take_timed_samples(const std::vector<TimedCalls>& works, const SamplingOptions& options) {
    std::vector<Sampled> all(works.size());
    const double start = now_s();
    double spent = 0;
    for (std::size_t i = 0; i < works.size(); ++i) {
        ROOFLINE_TRY(all[i].calls, calls_for(works[i], options, spent));
    }
    for (std::size_t round = 0; round < options.samples; ++round) {
        if (round >= least_samples && (options.together ? spent : now_s() - start) > options.max_duration_s) break;
        for (std::size_t i = 0; i < works.size(); ++i) {
            ROOFLINE_CHECK(go_on(options));
            ROOFLINE_TRY(auto sample, works[i](all[i].calls));
            spent += sample.seconds * static_cast<double>(all[i].calls);
            all[i].samples.push_back(sample);
        }
    }
    for (Sampled& each : all) each.spread = spread_of(each.samples, options.least_cpu_share);
    return all;
}

Result<std::vector<Sampled>> take_samples(const std::vector<Work>& works, const SamplingOptions& options) {
    std::vector<TimedCalls> timed;
    for (const Work& work : works) {
        timed.emplace_back([&work, &options](std::int64_t calls) { return one_sample(work, calls, options.threads); });
    }
    return take_timed_samples(timed, options);
}

Result<Sampled> take_samples(const Work& work, const SamplingOptions& options) {
    ROOFLINE_TRY(auto all, take_samples(std::vector<Work>{work}, options));
    return std::move(all.front());
}

std::string spread_text(const Spread& spread) {
    std::string text =
        fmt::format("median {}, {} of {} samples, p5 to p95 {} to {}", to_text(Seconds{spread.median}), spread.kept,
                    spread.tried, to_text(Seconds{spread.p5}), to_text(Seconds{spread.p95}));
    if (spread.disturbed) text += "; DISTURBED: the machine was busy";
    return text;
}

}  // namespace roofline::core
