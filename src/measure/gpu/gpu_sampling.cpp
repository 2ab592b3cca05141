// The device's clock sees no other processes: it needs no idle check and rejects no samples, but it needs a warm-up
// because the frequency takes time to rise.
#include <algorithm>

#include "measure/gpu/gpu.hpp"
#include "measure/stop.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t fewest_samples = 3;
constexpr std::int64_t most_launches = 1'000'000;
constexpr int max_rounds = 1000;  // limit for a warm-up whose clock does not advance

using GpuWork = std::function<Status(std::int64_t calls)>;

Result<std::int64_t> warm_up(Gpu& gpu, const GpuWork& work, const SamplingOptions& options) {
    std::int64_t calls = 1;
    double warmed = 0;
    for (int round = 0; round < max_rounds; ++round) {
        if (stop_requested()) return fail(interrupted());
        ROOFLINE_TRY(auto seconds, gpu.time([&] { return work(calls); }));
        warmed += seconds;
        const double each = std::max(seconds / static_cast<double>(calls), 1e-8);
        const double wanted = std::clamp(options.sample_s / each, 1.0, static_cast<double>(most_launches));
        const bool known = seconds > options.sample_s / 8 || static_cast<double>(calls) >= wanted;
        calls = known ? static_cast<std::int64_t>(wanted) : std::min(static_cast<std::int64_t>(wanted), calls * 16);
        if (known && (warmed >= options.warm_up_s || warmed >= options.max_duration_s / 4)) return calls;
    }
    return calls;
}

}  // namespace

Result<Sampled> take_gpu_samples(Gpu& gpu, const GpuWork& work, const SamplingOptions& options) {
    Sampled sampled;
    ROOFLINE_TRY(auto calls, warm_up(gpu, work, options));
    sampled.calls = calls;
    double spent = 0;
    while (sampled.samples.size() < options.samples &&
           (sampled.samples.size() < fewest_samples || spent < options.max_duration_s)) {
        if (stop_requested()) return fail(interrupted());
        ROOFLINE_TRY(auto seconds, gpu.time([&] { return work(sampled.calls); }));
        spent += seconds;
        Sample sample;
        sample.seconds = seconds / static_cast<double>(sampled.calls);
        sampled.samples.push_back(sample);
    }
    sampled.spread = spread_of(sampled.samples, 0);
    return sampled;
}

}  // namespace roofline::core
