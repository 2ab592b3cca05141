// Counts what the threads of a search have looked at, and tells them when the caller wants to stop.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/threads.hpp"
#include "predict/plan/search_progress.hpp"

namespace roofline::core {

class SearchWatch {
public:
    /// `plans` of SearchProgress.
    explicit SearchWatch(SearchWatcher watcher, std::int64_t plans = 0) : watcher_(std::move(watcher)), plans_(plans) {}

    /// Returns whether the search goes on.
    bool looked_at(std::int64_t plans) {
        const std::int64_t all = looked_at_ += plans;
        if (watcher_ && !stopped_) {
            const Lock one(one_at_a_time_, std::try_to_lock);
            const double best = best_;
            const auto known = std::isfinite(best) ? std::optional(best) : std::nullopt;
            if (one && !watcher_({all, plans_, known})) stopped_ = true;
        }
        return !stopped_;
    }
    /// One that fits, by what is to be least.
    void found(double value) {
        double best = best_;
        while (value < best && !best_.compare_exchange_weak(best, value)) {
        }
    }
    [[nodiscard]] bool stopped() const { return stopped_; }

private:
    SearchWatcher watcher_;
    std::int64_t plans_;
    std::atomic<std::int64_t> looked_at_ = 0;
    std::atomic<double> best_ = std::numeric_limits<double>::infinity();
    std::atomic<bool> stopped_ = false;
    Mutex one_at_a_time_;
};

}  // namespace roofline::core
