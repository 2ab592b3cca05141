// A program that is split, timed: from beyond the caches, and from the same memory every time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/network/sharded_run.hpp"
#include "measure/sampling.hpp"

namespace roofline::core {

/// How long a stage took, the slowest rank's time, in all passes of a repeat together.
struct StageTime {
    std::string text;
    bool exchange = false;
    std::size_t statement = 0;
    double seconds = 0;
};

/// The same run several times, each in memory of its own, gone through in turn: so a run finds nothing of itself in the caches.
class RotatedRuns {
public:
    /// `rotate_bytes` are those that all have together, at each rank; 0: four times the device's last cache. As many as memory has
    /// room for, and at most 64. All ranks call it. Errors: as ShardedRun::make().
    [[nodiscard]] static Result<RotatedRuns> make(const Program& program, const System& system, Communicator& world,
                                                  Device& device, double rotate_bytes = 0);

    [[nodiscard]] ShardedRun& first() { return *runs_.front(); }
    [[nodiscard]] std::size_t sets() const { return runs_.size(); }
    [[nodiscard]] double set_bytes() const { return set_bytes_; }
    /// Whether all together are as much as was wanted.
    [[nodiscard]] bool beyond_caches() const { return beyond_caches_; }

    /// `hot`: the first alone.
    [[nodiscard]] Result<Sampled> time(const SamplingOptions& options, bool overlapped, bool hot);
    /// Each stage by itself, from one barrier to the slowest rank's end, in other memory every round.
    [[nodiscard]] Result<std::vector<StageTime>> time_stages(std::size_t rounds);

private:
    std::vector<std::unique_ptr<ShardedRun>> runs_;
    double set_bytes_ = 0;  ///< at the rank that has most
    bool beyond_caches_ = false;
    std::size_t next_ = 0;
};

}  // namespace roofline::core
