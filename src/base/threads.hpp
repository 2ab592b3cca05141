// Threads and what guards data between them. WebAssembly has none as it is used here: there a thread's work is done
// when it is started, before the caller goes on, and nothing has to be guarded. So work that is handed to threads must
// not wait for work that is started later.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#ifndef __wasi__
#include <condition_variable>
#include <thread>
#endif

namespace roofline::core {

#ifdef __wasi__

struct Mutex {
    void lock() {}
    [[nodiscard]] bool try_lock() { return true; }
    void unlock() {}
};

/// Replaces a lock: there is nothing to guard.
struct Lock {
    explicit Lock(Mutex& mutex) { static_cast<void>(mutex); }
    Lock(Mutex& mutex, std::try_to_lock_t) { static_cast<void>(mutex); }
    explicit operator bool() const { return true; }
};

struct Condition {
    /// Returns at once, because the condition holds already.
    template <class Holds>
    void wait(Lock& lock, const Holds& holds) {
        static_cast<void>(lock);
        static_cast<void>(holds);
    }
    void notify_all() {}
};

/// Threads that are started and waited for together.
class Threads {
public:
    template <class Work, class... Arguments>
    void start(const Work& work, Arguments&&... arguments) {
        work(std::forward<Arguments>(arguments)...);
    }
    void join() {}
};

[[nodiscard]] inline std::size_t most_threads() { return 1; }

#else

using Mutex = std::mutex;
using Lock = std::unique_lock<std::mutex>;
using Condition = std::condition_variable;

/// Threads that are started and waited for together.
class Threads {
public:
    template <class Work, class... Arguments>
    void start(const Work& work, Arguments&&... arguments) {
        running_.emplace_back(work, std::forward<Arguments>(arguments)...);
    }
    void join() {
        for (std::thread& thread : running_) thread.join();
        running_.clear();
    }

private:
    std::vector<std::thread> running_;
};

/// Returns how many threads the machine runs at the same time; 0: it is not known.
[[nodiscard]] inline std::size_t most_threads() { return std::thread::hardware_concurrency(); }

#endif

}  // namespace roofline::core
