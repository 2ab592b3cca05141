// Threads that stand ready on cores of their own.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "measure/sampling.hpp"

namespace roofline::core {

/// One thread on each of some processors. Those who have nothing to do sleep; those who work start together.
class WorkerTeam {
public:
    WorkerTeam();
    WorkerTeam(const WorkerTeam&) = delete;
    WorkerTeam& operator=(const WorkerTeam&) = delete;
    ~WorkerTeam();

    /// `cpus` are the kernel's numbers. Errors: code `threads`, when a thread cannot be made.
    [[nodiscard]] Status start(const std::vector<int>& cpus);

    [[nodiscard]] int size() const;
    /// Workers that the kernel would not put on their processor.
    [[nodiscard]] int unpinned() const;

    /// The first `workers` of the team call task(worker), worker from 0, all at once, and this returns when all have.
    /// The sample is from the first one's start to the last one's end, with the least share of its processor that one of them had,
    /// and the clock probed on each just after, when `clock` is set; the mean of all.
    Sample run(int workers, const std::function<void(int worker)>& task, bool clock = false);

private:
    struct Shared;
    std::unique_ptr<Shared> shared_;
};

}  // namespace roofline::core
