// Threads that are ready to run, each on its own core.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "measure/sampling.hpp"

namespace roofline::core {

/// One thread per processor. Idle workers sleep; workers with a task start together.
class WorkerTeam {
public:
    WorkerTeam();
    WorkerTeam(const WorkerTeam&) = delete;
    WorkerTeam& operator=(const WorkerTeam&) = delete;
    ~WorkerTeam();

    /// `cpus` are the kernel's processor numbers. Errors: code `threads` if a thread cannot be created.
    [[nodiscard]] Status start(const std::vector<int>& cpus);

    [[nodiscard]] int size() const;
    /// Number of workers that could not be pinned to their processor.
    [[nodiscard]] int unpinned() const;

    /// The first `workers` of the team call task(worker), worker counted from 0, at the same time; returns when all
    /// calls have returned. The sample lasts from the first start to the last end, and contains the smallest share of
    /// processor time that a worker had. With `clock` it also contains the mean of the clocks, probed on each worker
    /// just after the task.
    Sample run(int workers, const std::function<void(int worker)>& task, bool clock = false);

private:
    struct Shared;
    std::unique_ptr<Shared> shared_;
};

}  // namespace roofline::core
