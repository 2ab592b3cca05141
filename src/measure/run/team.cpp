#include "measure/run/team.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

namespace roofline::core {

namespace {

constexpr int spins = 20'000;  // some tens of microseconds, after which a waiting thread sleeps

class PlainTeam : public Team {
public:
    explicit PlainTeam(const std::vector<int>& processors) {
        workers_.reserve(processors.size());
        for (std::size_t i = 1; i < processors.size(); ++i) {
            workers_.push_back(std::make_unique<Worker>());
            Worker& worker = *workers_.back();
            worker.team = this;
            worker.thread = static_cast<int>(i);
            worker.processor = processors[i];
            if (::pthread_create(&worker.handle, nullptr, &PlainTeam::main, &worker) != 0) {
                workers_.pop_back();
                break;
            }
        }
        if (!processors.empty()) bind_to(processors.front());
    }

    ~PlainTeam() override {
        start(nullptr);
        for (const auto& worker : workers_) ::pthread_join(worker->handle, nullptr);
    }

    [[nodiscard]] int threads() const override { return static_cast<int>(workers_.size()) + 1; }

    void run(const std::function<void(int thread)>& work) override {
        left_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
        start(&work);
        work(0);
        for (int spin = 0; left_.load(std::memory_order_acquire) != 0; ++spin) {
            if (spin < spins) continue;
            std::unique_lock lock(mutex_);
            done_.wait(lock, [&] { return left_.load(std::memory_order_acquire) == 0; });
        }
    }

private:
    struct Worker {
        PlainTeam* team = nullptr;
        int thread = 0;
        int processor = 0;
        pthread_t handle{};
    };

    void start(const std::function<void(int thread)>* work) {
        const std::lock_guard lock(mutex_);
        work_ = work;
        round_.fetch_add(1, std::memory_order_release);
        begin_.notify_all();
    }

    static void* main(void* argument) {
        auto& worker = *static_cast<Worker*>(argument);
        PlainTeam& team = *worker.team;
        bind_to(worker.processor);
        unsigned seen = 0;
        while (true) {
            for (int spin = 0; spin < spins && team.round_.load(std::memory_order_acquire) == seen; ++spin) {
            }
            const std::function<void(int thread)>* work = nullptr;
            {
                std::unique_lock lock(team.mutex_);
                team.begin_.wait(lock, [&] { return team.round_.load(std::memory_order_acquire) != seen; });
                seen = team.round_.load(std::memory_order_acquire);
                work = team.work_;
            }
            if (work == nullptr) return nullptr;
            (*work)(worker.thread);
            if (team.left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
                const std::lock_guard lock(team.mutex_);
                team.done_.notify_all();
            }
        }
    }

    AffinityGuard affinity_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::mutex mutex_;
    std::condition_variable begin_, done_;
    std::atomic<unsigned> round_{0};
    std::atomic<int> left_{0};
    const std::function<void(int thread)>* work_ = nullptr;
};

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// Processor time that a container may use, in processors; 0 if there is no limit.
int time_limit() {
    const std::string line = first_line("/sys/fs/cgroup/cpu.max");  // "200000 100000" or "max 100000"
    double quota = 0;
    double period = 0;
    const char* end = line.data() + line.size();
    const auto first = std::from_chars(line.data(), end, quota);
    if (first.ec != std::errc{} || first.ptr == end) return 0;
    const auto second = std::from_chars(first.ptr + 1, end, period);
    if (second.ec != std::errc{} || !(period > 0) || !(quota > 0)) return 0;
    return std::max(1, static_cast<int>(std::lround(quota / period)));
}

}  // namespace

std::vector<int> processors_to_use() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {0};
    std::vector<int> processors;
    std::set<std::string> cores;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(static_cast<unsigned>(processor), &allowed)) continue;
        const std::string siblings =
            first_line("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/thread_siblings_list");
        if (siblings.empty() || cores.insert(siblings).second) processors.push_back(processor);
    }
    if (processors.empty()) processors.push_back(0);
    const int limit = time_limit();
    if (limit > 0 && static_cast<std::size_t>(limit) < processors.size())
        processors.resize(static_cast<std::size_t>(limit));
    return processors;
}

void bind_to(int processor) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<unsigned>(processor), &only);
    ::sched_setaffinity(0, sizeof only, &only);
}

AffinityGuard::AffinityGuard() : mask_(sizeof(cpu_set_t)) {
    if (::sched_getaffinity(0, mask_.size(), reinterpret_cast<cpu_set_t*>(mask_.data())) != 0) mask_.clear();
}

AffinityGuard::~AffinityGuard() {
    if (!mask_.empty()) ::sched_setaffinity(0, mask_.size(), reinterpret_cast<const cpu_set_t*>(mask_.data()));
}

std::unique_ptr<Team> make_team(const std::vector<int>& processors) { return std::make_unique<PlainTeam>(processors); }

Share share_of(std::int64_t count, int thread, int threads) {
    const std::int64_t each = count / threads;
    const std::int64_t more = count % threads;
    const std::int64_t first = thread * each + std::min<std::int64_t>(thread, more);
    return {first, first + each + (thread < more ? 1 : 0)};
}

}  // namespace roofline::core
