// Threads that work together, each on a processor of its own.
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
    /// Calls work(thread) on every thread, 0 to threads() - 1, and returns when all have. Not to be nested.
    virtual void run(const std::function<void(int thread)>& work) = 0;
};

/// The processors to work on: of those that this process may use one for each core, and no more than its share of processor
/// time allows (a container's limit).
[[nodiscard]] std::vector<int> processors_to_use();

/// Binds the calling thread to a processor, as far as the system lets it.
void bind_to(int processor);

/// Puts back, at its end, where the calling thread may run.
class AffinityGuard {
public:
    AffinityGuard();
    AffinityGuard(const AffinityGuard&) = delete;
    AffinityGuard& operator=(const AffinityGuard&) = delete;
    ~AffinityGuard();

private:
    std::vector<unsigned char> mask_;
};

/// A team of plain threads, bound to these processors. The calling thread is its first. Where no more threads can be started it
/// has fewer.
[[nodiscard]] std::unique_ptr<Team> make_team(const std::vector<int>& processors);

/// A part of [0, count) for one thread of several.
struct Share {
    std::int64_t first = 0;
    std::int64_t last = 0;
};
[[nodiscard]] Share share_of(std::int64_t count, int thread, int threads);

}  // namespace roofline::core
