#include "measure/network/rotated_runs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "measure/network/all_ranks.hpp"
#include "measure/sample_watch.hpp"

namespace roofline::core {

namespace {

constexpr double most_runs = 64;
constexpr double share_of_memory = 0.4;  // of the free memory, for all ranks together

}  // namespace

Result<RotatedRuns> RotatedRuns::make(const Program& program, const System& system, Communicator& world, Device& device,
                                      double rotate_bytes) {
    RotatedRuns rotated;
    ROOFLINE_TRY(auto first, ShardedRun::make(program, system, world, device));
    rotated.runs_.push_back(std::move(first));
    ROOFLINE_TRY(auto bytes, greatest(world, static_cast<double>(rotated.first().bytes())));
    ROOFLINE_TRY(auto wanted,
                 greatest(world, rotate_bytes > 0 ? rotate_bytes : 4 * static_cast<double>(device.largest_cache())));
    ROOFLINE_TRY(auto least_free, greatest(world, -static_cast<double>(device.memory_free())));
    rotated.set_bytes_ = std::max(bytes, 1.0);
    const double affordable = -least_free * share_of_memory / (static_cast<double>(world.size()) * rotated.set_bytes_);
    const double runs = std::min({std::ceil(wanted / rotated.set_bytes_), affordable, most_runs});
    for (double made = 1; made < runs; ++made) {
        ROOFLINE_TRY(auto run, ShardedRun::again(rotated.first()));
        rotated.runs_.push_back(std::move(run));
    }
    rotated.beyond_caches_ = static_cast<double>(rotated.sets()) * rotated.set_bytes_ >= 0.999 * wanted;
    return rotated;
}

Result<Sampled> RotatedRuns::time(const SamplingOptions& options, bool overlapped, bool hot) {
    return sample_on_all_ranks(
        first().ranks().world(),
        [&](std::int64_t calls) -> Status {
            for (std::int64_t call = 0; call < calls; ++call) {
                ShardedRun& run = hot ? first() : *runs_[next_++ % runs_.size()];
                ROOFLINE_CHECK(run.run(overlapped));
            }
            return {};
        },
        options);
}

// All ranks begin each stage together, so that waiting for another rank's computation is not counted as communication.
Result<std::vector<StageTime>> RotatedRuns::time_stages(std::size_t rounds) {
    Communicator& world = first().ranks().world();
    const std::vector<ShardedStage>& stages = first().stages();
    std::vector<std::vector<double>> samples(stages.size());
    for (std::size_t round = 0; round < rounds; ++round) {
        const ShardedRun& run = *runs_[next_++ % runs_.size()];
        for (std::size_t i = 0; i < stages.size(); ++i) {
            ROOFLINE_CHECK(world.barrier());
            const double start = now_s();
            ROOFLINE_CHECK(run.stages()[i].run());
            ROOFLINE_TRY(auto slowest, greatest(world, now_s() - start));
            std::vector<double>& all = samples[stages[i].first];
            if (all.size() == round) all.push_back(0);
            all.back() += slowest;
        }
    }
    std::vector<StageTime> times;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const ShardedStage& stage = stages[i];
        if (stage.first != i) continue;
        std::sort(samples[i].begin(), samples[i].end());
        times.push_back({stage.text, stage.exchange, stage.statement, quantile(samples[i], 0.5)});
    }
    return times;
}

}  // namespace roofline::core
