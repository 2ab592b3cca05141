#include "measure/network/agreed.hpp"

#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>

#include "measure/stop.hpp"

namespace roofline {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double cpu_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::int64_t involuntary_switches() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

Result<std::vector<double>> gathered(Communicator& group, const double* mine, std::size_t count) {
    std::vector<double> all(count * static_cast<std::size_t>(group.size()));
    Exchange every;
    every.kind = CollectiveKind::all_gather;
    every.in = reinterpret_cast<const std::byte*>(mine);
    every.out = reinterpret_cast<std::byte*>(all.data());
    every.part = count * sizeof(double);
    if (auto status = exchange(group, every); !status) return fail(status.error());
    return all;
}

// The slowest rank's time, and a disturbance or a wish to stop of any.
Result<Sample> sample_together(Communicator& group, const std::function<Status(std::int64_t calls)>& work,
                               std::int64_t calls, int threads) {
    if (auto status = group.barrier(); !status) return fail(status.error());
    const std::int64_t switches = involuntary_switches();
    const double cpu = cpu_seconds();
    const double start = now();
    if (auto status = work(calls); !status) return fail(status.error());
    const double wall = now() - start;
    const double share = wall > 0 ? (cpu_seconds() - cpu) / (wall * threads) : 1;
    const double mine[] = {wall / static_cast<double>(calls), share,
                           static_cast<double>(involuntary_switches() - switches), stop_requested() ? 1.0 : 0.0};
    auto all = gathered(group, mine, std::size(mine));
    if (!all) return fail(all.error());
    Sample slowest;
    bool stop = false;
    for (std::size_t i = 0; i < all->size(); i += std::size(mine)) {
        slowest.seconds = std::max(slowest.seconds, (*all)[i]);
        slowest.cpu_share = std::min(slowest.cpu_share, (*all)[i + 1]);
        slowest.preempted = std::max(slowest.preempted, static_cast<std::int64_t>((*all)[i + 2]));
        stop = stop || (*all)[i + 3] > 0;
    }
    if (stop) return fail(interrupted());
    return slowest;
}

}  // namespace

Result<std::vector<std::string>> all_texts(Communicator& group, const std::string& mine) {
    auto lengths = all_numbers(group, static_cast<double>(mine.size()));
    if (!lengths) return fail(lengths.error());
    const auto longest = static_cast<std::size_t>(*std::max_element(lengths->begin(), lengths->end()));
    std::string padded = mine;
    padded.resize(longest + 1);
    std::string all(padded.size() * static_cast<std::size_t>(group.size()), '\0');
    Exchange every;
    every.kind = CollectiveKind::all_gather;
    every.in = reinterpret_cast<const std::byte*>(padded.data());
    every.out = reinterpret_cast<std::byte*>(all.data());
    every.part = padded.size();
    if (auto status = exchange(group, every); !status) return fail(status.error());
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < lengths->size(); ++i) {
        texts.push_back(all.substr(i * padded.size(), static_cast<std::size_t>((*lengths)[i])));
    }
    return texts;
}

Status agreed(Communicator& group, const Status& mine) {
    if (group.size() == 1) return mine;
    auto failures = all_numbers(group, mine ? 0 : 1);
    if (!failures) return fail(failures.error());
    const auto first = std::find(failures->begin(), failures->end(), 1.0);
    if (first == failures->end()) return {};
    const Error none{"", "", "", {}};
    const Error& error = mine ? none : mine.error();
    std::vector<std::string> parts;
    for (const std::string& part : {error.code, error.message, error.hint}) {
        auto texts = all_texts(group, part);
        if (!texts) return fail(texts.error());
        parts.push_back((*texts)[static_cast<std::size_t>(first - failures->begin())]);
    }
    const bool all = std::find(failures->begin(), failures->end(), 0.0) == failures->end();
    if (all && !mine) return mine;
    return fail(parts[0], fmt::format("rank {}: {}", first - failures->begin(), parts[1]), parts[2]);
}

Result<std::vector<double>> all_numbers(Communicator& group, double mine) { return gathered(group, &mine, 1); }

Result<double> greatest(Communicator& group, double mine) {
    auto all = all_numbers(group, mine);
    if (!all) return fail(all.error());
    return *std::max_element(all->begin(), all->end());
}

Result<Sampled> agreed_samples(Communicator& group, const std::function<Status(std::int64_t calls)>& work,
                               const SamplingOptions& options) {
    constexpr std::size_t least_samples = 3;
    Sampled sampled;
    // all ranks reckon with the same times, and so take the same turns
    for (double warmed = 0;;) {
        auto tried = sample_together(group, work, sampled.calls, options.threads);
        if (!tried) return fail(tried.error());
        const double took = tried->seconds * static_cast<double>(sampled.calls);
        warmed += took;
        const double wanted = std::clamp(options.sample_s / std::max(tried->seconds, 1e-10), 1.0, 1e12);
        // a clock that hardly moved says nothing yet of how many calls it takes
        const bool known = took > options.sample_s / 8 || wanted == 1;
        sampled.calls =
            static_cast<std::int64_t>(known ? wanted : std::min(wanted, 16.0 * static_cast<double>(sampled.calls)));
        if (known && (warmed >= options.warm_up_s || warmed >= options.longest_s / 4)) break;
    }
    double spent = 0;
    while (sampled.samples.size() < options.samples) {
        if (sampled.samples.size() >= least_samples && spent > options.longest_s) break;
        auto taken = sample_together(group, work, sampled.calls, options.threads);
        if (!taken) return fail(taken.error());
        sampled.samples.push_back(*taken);
        spent += taken->seconds * static_cast<double>(sampled.calls);
    }
    sampled.spread = spread_of(sampled.samples, options.least_cpu_share);
    return sampled;
}

}  // namespace roofline
