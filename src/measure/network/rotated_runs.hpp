// Times a sharded program, both from beyond the caches and in the same memory every time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/network/sharded_run.hpp"
#include "measure/sampling.hpp"

namespace roofline::core {

/// Time of a stage: that of the slowest rank, summed over all iterations of a repeat.
struct StageTime {
    std::string text;
    bool exchange = false;
    std::size_t statement = 0;
    double seconds = 0;
};

/// Several copies of the same run, each in its own memory, used in turn so that no run finds its data in the caches.
class RotatedRuns {
public:
    /// `rotate_bytes` is the memory of all copies together on each rank; 0: four times the device's last-level cache.
    /// There are as many copies as fit in memory, at most 64. All ranks call it. Errors: as ShardedRun::make().
    [[nodiscard]] static Result<RotatedRuns> make(const Program& program, const System& system, Communicator& world,
                                                  Device& device, double rotate_bytes = 0);

    [[nodiscard]] ShardedRun& first() { return *runs_.front(); }
    [[nodiscard]] std::size_t sets() const { return runs_.size(); }
    [[nodiscard]] double set_bytes() const { return set_bytes_; }
    /// Returns whether all copies together reach the requested size.
    [[nodiscard]] bool beyond_caches() const { return beyond_caches_; }

    /// Times whole runs; `hot` uses only the first copy.
    [[nodiscard]] Result<Sampled> time(const SamplingOptions& options, bool overlapped, bool hot);
    /// Times each stage separately, from a barrier to the end of the slowest rank, in another copy every round.
    [[nodiscard]] Result<std::vector<StageTime>> time_stages(std::size_t rounds);

private:
    std::vector<std::unique_ptr<ShardedRun>> runs_;
    double set_bytes_ = 0;  ///< at the rank with the most
    bool beyond_caches_ = false;
    std::size_t next_ = 0;
};

}  // namespace roofline::core
