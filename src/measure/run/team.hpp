// Threads that work together, each bound to its own processor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace roofline::core {

class Team {
public:
    Team() = default;
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    virtual ~Team() = default;

    [[nodiscard]] virtual int threads() const = 0;
    /// Calls work(thread) on every thread, 0 to threads() - 1, and returns when all calls have returned. Calls must not
    /// be nested.
    virtual void run(const std::function<void(int thread)>& work) = 0;
};

/// Processors to use: one per core of those that this process may run on, limited to its share of processor time (a
/// container's limit).
[[nodiscard]] std::vector<int> processors_to_use();

/// Binds the calling thread to a processor if the system allows it.
void bind_to(int processor);

/// Restores the processors that the calling thread may run on when it is destroyed.
class AffinityGuard {
public:
    AffinityGuard();
    AffinityGuard(const AffinityGuard&) = delete;
    AffinityGuard& operator=(const AffinityGuard&) = delete;
    ~AffinityGuard();

private:
    std::vector<unsigned char> mask_;
};

/// Makes a team of plain threads that are bound to these processors. The calling thread is the first. The team is
/// smaller if the system cannot start enough threads.
[[nodiscard]] std::unique_ptr<Team> make_team(const std::vector<int>& processors);

/// The part of [0, count) that belongs to one of several threads.
struct Share {
    std::int64_t first = 0;
    std::int64_t last = 0;
};
[[nodiscard]] Share share_of(std::int64_t count, int thread, int threads);

}  // namespace roofline::core
