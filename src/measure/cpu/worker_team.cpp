#include "measure/cpu/worker_team.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <ctime>

#include "measure/cpu/clock_probe.hpp"
#include "measure/sample_watch.hpp"

namespace roofline::core {

namespace {

// The clock is probed right after the task: processors that lower their clock for wide vectors do so some microseconds
// after these begin, and keep it low for most of a millisecond after them (Intel optimization reference manual, Skylake
// server power management). The fastest probe is the one that nothing interrupted.
constexpr std::int64_t probe_passes = 1500;  // 24,000 cycles: some microseconds
constexpr int probes = 3;
constexpr int spins_before_yield = 20000;

double own_cpu_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::int64_t own_preemptions() {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

bool pin(int cpu) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu), &set);
    return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace

struct WorkerTeam::Shared {
    /// What one worker measured during a task.
    struct alignas(128) Stretch {
        double start = 0;
        double end = 0;
        double cpu = 0;
        double hertz = 0;
        std::int64_t preempted = 0;
    };
    struct Member {
        Shared* team = nullptr;
        int index = 0;
        int cpu = 0;
        pthread_t thread{};
    };
    std::vector<int> cpus;
    std::vector<std::unique_ptr<Member>> members;
    std::vector<Stretch> stretches;
    std::atomic<int> generation{0};
    std::atomic<int> arrived{0};
    std::atomic<int> done{0};
    std::atomic<int> unpinned{0};
    std::atomic<bool> leaving{false};
    int workers = 0;
    bool clock = false;
    const std::function<void(int)>* task = nullptr;

    static void* serve(void* argument);
    void work(int index);
};

void WorkerTeam::Shared::work(int index) {
    Stretch& stretch = stretches[static_cast<std::size_t>(index)];
    stretch.hertz = 0;
    const std::int64_t preempted = own_preemptions();
    arrived.fetch_add(1);
    // other threads may share this processor, so a waiting thread must yield to them
    for (int spin = 0; arrived.load(std::memory_order_acquire) < workers; ++spin) {
        if (spin >= spins_before_yield) ::sched_yield();
    }
    const double cpu = own_cpu_seconds();
    stretch.start = now_s();
    (*task)(index);
    stretch.end = now_s();
    stretch.cpu = own_cpu_seconds() - cpu;
    stretch.preempted = own_preemptions() - preempted;
    for (int probe = 0; clock && probe < probes; ++probe) {
        stretch.hertz = std::max(stretch.hertz, probe_clock(probe_passes).hertz);
    }
}

void* WorkerTeam::Shared::serve(void* argument) {
    auto* member = static_cast<Member*>(argument);
    Shared& team = *member->team;
    if (!pin(member->cpu)) team.unpinned.fetch_add(1);
    team.done.fetch_add(1);
    team.done.notify_one();
    int seen = 0;
    while (true) {
        team.generation.wait(seen);
        seen = team.generation.load();
        if (team.leaving.load()) return nullptr;
        if (member->index < team.workers) team.work(member->index);
        // idle workers count too: only when all are done may the next task be set
        team.done.fetch_add(1);
        team.done.notify_one();
    }
}

WorkerTeam::WorkerTeam() = default;

WorkerTeam::~WorkerTeam() {
    if (!shared_) return;
    shared_->leaving.store(true);
    shared_->generation.fetch_add(1);
    shared_->generation.notify_all();
    for (const auto& member : shared_->members) ::pthread_join(member->thread, nullptr);
}

Status WorkerTeam::start(const std::vector<int>& cpus) {
    if (shared_) return fail("threads", "this team has started already");
    shared_ = std::make_unique<Shared>();
    shared_->cpus = cpus;
    shared_->stretches.resize(cpus.size());
    for (std::size_t i = 0; i < cpus.size(); ++i) {
        auto member = std::make_unique<Shared::Member>();
        member->team = shared_.get();
        member->index = static_cast<int>(i);
        member->cpu = cpus[i];
        if (::pthread_create(&member->thread, nullptr, &Shared::serve, member.get()) != 0) {
            return fail("threads", fmt::format("no thread for processor {}", cpus[i]),
                        "raise the limit on processes (ulimit -u), or allow fewer processors with taskset");
        }
        shared_->members.push_back(std::move(member));
    }
    const int all = size();
    for (int done = shared_->done.load(); done < all; done = shared_->done.load()) shared_->done.wait(done);
    return {};
}

int WorkerTeam::size() const { return shared_ ? static_cast<int>(shared_->members.size()) : 0; }
int WorkerTeam::unpinned() const { return shared_ ? shared_->unpinned.load() : 0; }

Sample WorkerTeam::run(int workers, const std::function<void(int worker)>& task, bool clock) {
    Shared& team = *shared_;
    const int all = size();
    workers = std::clamp(workers, 1, all);
    const std::vector<int> used(team.cpus.begin(), team.cpus.begin() + workers);
    const double stolen = stolen_seconds(used);
    team.workers = workers;
    team.clock = clock;
    team.task = &task;
    team.arrived.store(0);
    team.done.store(0);
    team.generation.fetch_add(1);
    team.generation.notify_all();
    for (int done = team.done.load(); done < all; done = team.done.load()) team.done.wait(done);

    Sample sample;
    const auto first = team.stretches.begin();
    const auto last = first + workers;
    double start = first->start;
    double end = first->end;
    for (auto each = first; each != last; ++each) {
        start = std::min(start, each->start);
        end = std::max(end, each->end);
    }
    for (auto each = first; each != last; ++each) {
        // from the first start: a late start means a delay, an early end only means speed
        const double wall = each->end - start;
        if (wall > 0) sample.cpu_share = std::min(sample.cpu_share, each->cpu / wall);
        sample.preempted += each->preempted;
        sample.hertz += each->hertz / workers;
    }
    sample.seconds = end - start;
    sample.stolen_s = stolen_seconds(used) - stolen;
    return sample;
}

}  // namespace roofline::core
