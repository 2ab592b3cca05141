// Independent predictions on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>

#include "base/threads.hpp"
#include "calibrate/collective/expected_collective.hpp"

namespace roofline::core {

/// Calls `one(i, calibrations)` for each i below `count`, on at most so many threads. Calibrations are read when they
/// are asked for, so that each thread has its own.
template <class One>
void on_threads(std::size_t count, std::size_t threads, const std::shared_ptr<Calibrations>& calibrations,
                const One& one) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&](const std::shared_ptr<Calibrations>& own) {
        for (std::size_t i = next++; i < count; i = next++) one(i, own);
    };
    Threads running;
    for (std::size_t i = 1; i < std::min(threads, count); ++i) {
        running.start(work, std::make_shared<Calibrations>(*calibrations));
    }
    work(calibrations);
    running.join();
}

}  // namespace roofline::core
