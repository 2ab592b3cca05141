#include "measure/network/all_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "measure/sample_watch.hpp"
#include "measure/stop.hpp"

namespace roofline::core {

namespace {

Result<std::vector<double>> gathered(Communicator& group, const double* mine, std::size_t count) {
    std::vector<double> all(count * static_cast<std::size_t>(group.size()));
    Exchange every;
    every.kind = CollectiveKind::all_gather;
    every.in = reinterpret_cast<const std::byte*>(mine);
    every.out = reinterpret_cast<std::byte*>(all.data());
    every.part = count * sizeof(double);
    ROOFLINE_CHECK(exchange(group, every));
    return all;
}

// Takes a sample on all ranks: the time of the slowest rank, disturbed or interrupted if it was so on any rank.
Result<Sample> take_group_sample(Communicator& group, const std::function<Status(std::int64_t calls)>& work,
                                 std::int64_t calls, int threads) {
    ROOFLINE_CHECK(group.barrier());
    const SampleWatch watch;
    ROOFLINE_CHECK(work(calls));
    const Sample own = watch.read(calls, threads);
    const double mine[] = {own.seconds, own.cpu_share, static_cast<double>(own.preempted), own.stolen_s,
                           stop_requested() ? 1.0 : 0.0};
    ROOFLINE_TRY(auto all, gathered(group, mine, std::size(mine)));
    Sample slowest;
    bool stop = false;
    for (std::size_t i = 0; i < all.size(); i += std::size(mine)) {
        slowest.seconds = std::max(slowest.seconds, (all)[i]);
        slowest.cpu_share = std::min(slowest.cpu_share, (all)[i + 1]);
        slowest.preempted = std::max(slowest.preempted, static_cast<std::int64_t>((all)[i + 2]));
        slowest.stolen_s = std::max(slowest.stolen_s, (all)[i + 3]);
        stop = stop || (all)[i + 4] > 0;
    }
    if (stop) return fail(interrupted());
    return slowest;
}

}  // namespace

Result<std::vector<std::string>> all_texts(Communicator& group, const std::string& mine) {
    ROOFLINE_TRY(auto lengths, all_numbers(group, static_cast<double>(mine.size())));
    const auto longest = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
    std::string padded = mine;
    padded.resize(longest + 1);
    std::string all(padded.size() * static_cast<std::size_t>(group.size()), '\0');
    Exchange every;
    every.kind = CollectiveKind::all_gather;
    every.in = reinterpret_cast<const std::byte*>(padded.data());
    every.out = reinterpret_cast<std::byte*>(all.data());
    every.part = padded.size();
    ROOFLINE_CHECK(exchange(group, every));
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        texts.push_back(all.substr(i * padded.size(), static_cast<std::size_t>((lengths)[i])));
    }
    return texts;
}

Status common_status(Communicator& group, const Status& mine) {
    if (group.size() == 1) return mine;
    ROOFLINE_TRY(auto failures, all_numbers(group, mine ? 0 : 1));
    const auto first = std::find(failures.begin(), failures.end(), 1.0);
    if (first == failures.end()) return {};
    const Error none{"", "", "", {}};
    const Error& error = mine ? none : mine.error();
    std::vector<std::string> parts;
    for (const std::string& part : {error.code, error.message, error.hint}) {
        ROOFLINE_TRY(auto texts, all_texts(group, part));
        parts.push_back((texts)[static_cast<std::size_t>(first - failures.begin())]);
    }
    const bool all = std::find(failures.begin(), failures.end(), 0.0) == failures.end();
    if (all && !mine) return mine;
    return fail(parts[0], fmt::format("rank {}: {}", first - failures.begin(), parts[1]), parts[2]);
}

Result<std::vector<double>> all_numbers(Communicator& group, double mine) { return gathered(group, &mine, 1); }

Result<double> greatest(Communicator& group, double mine) {
    ROOFLINE_TRY(auto all, all_numbers(group, mine));
    return *std::max_element(all.begin(), all.end());
}

Result<Sampled> sample_on_all_ranks(Communicator& group, const std::function<Status(std::int64_t calls)>& work,
                                    const SamplingOptions& options) {
    SamplingOptions together = options;
    together.together = true;  // all ranks compute with the same times, so they do the same number of repetitions
    const TimedCalls timed = [&](std::int64_t calls) { return take_group_sample(group, work, calls, options.threads); };
    ROOFLINE_TRY(auto sampled, take_timed_samples({timed}, together));
    return std::move(sampled.front());
}

}  // namespace roofline::core
