#include "measure/cpu/core_placement.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>

namespace roofline::core {

namespace {

constexpr double near_seconds = 60e-9;
constexpr int round_trips = 200;
constexpr int tries = 5;
constexpr int turns_before_yield = 100000;

struct alignas(128) BallLine {
    std::atomic<int> ball{0};
};

void wait_for(const std::atomic<int>& ball, int value) {
    for (int spin = 0; ball.load(std::memory_order_acquire) != value; ++spin) {
        if (spin >= turns_before_yield) ::sched_yield();
    }
}

/// Best of several tries: disturbances only make it longer.
double one_way(WorkerTeam& team, int other) {
    double best = 1;
    for (int attempt = 0; attempt < tries; ++attempt) {
        BallLine line;
        const Sample sample = team.run(other + 1, [&](int worker) {
            if (worker != 0 && worker != other) return;
            const int mine = worker == 0 ? 0 : 1;
            for (int trip = 0; trip < round_trips; ++trip) {
                wait_for(line.ball, 2 * trip + mine);
                line.ball.store(2 * trip + mine + 1, std::memory_order_release);
            }
        });
        best = std::min(best, sample.seconds / (2.0 * round_trips));
    }
    return best;
}

}  // namespace

std::string_view placement_text(CorePlacement placement) {
    switch (placement) {
        case CorePlacement::single:
            return "one core";
        case CorePlacement::near:
            return "cores that share a cache";
        case CorePlacement::mixed:
            return "cores of which some share a cache";
        case CorePlacement::far:
            return "cores that share no cache";
    }
    return "";
}

std::vector<double> probe_cores(WorkerTeam& team, int pairs) {
    std::vector<double> seconds;
    const int others = team.size() - 1;
    for (int i = 0; i < std::min(others, pairs); ++i) {
        // spread over all cores if there are more cores than pairs
        const int other =
            others <= pairs ? i + 1 : 1 + static_cast<int>(static_cast<long>(i) * (others - 1) / (pairs - 1));
        seconds.push_back(one_way(team, other));
    }
    return seconds;
}

CorePlacement placement_of(const std::vector<double>& one_way_seconds) {
    if (one_way_seconds.empty()) return CorePlacement::single;
    const auto near = std::count_if(one_way_seconds.begin(), one_way_seconds.end(),
                                    [](double seconds) { return seconds < near_seconds; });
    if (near == 0) return CorePlacement::far;
    return near == static_cast<std::ptrdiff_t>(one_way_seconds.size()) ? CorePlacement::near : CorePlacement::mixed;
}

}  // namespace roofline::core
