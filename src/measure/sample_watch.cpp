#include "measure/sample_watch.hpp"

#include <dirent.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <ctime>

namespace roofline::core {

namespace {

std::int64_t involuntary_switches() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

double seconds_of(clockid_t clock) {
    timespec time{};
    if (::clock_gettime(clock, &time) != 0) return 0;  // the thread has ended
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Linux encodes a thread's processor clock like this (MAKE_THREAD_CPUCLOCK); pthread_getcpuclockid() only works for
// threads whose handle is known.
clockid_t clock_of_thread(long thread) {
    constexpr unsigned long scheduler_of_one_thread = 6;
    return static_cast<clockid_t>((~static_cast<unsigned long>(thread) << 3U) | scheduler_of_one_thread);
}

}  // namespace

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double threads_cpu_s() {
    DIR* threads = ::opendir("/proc/self/task");
    if (threads == nullptr) return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    double seconds = 0;
    while (const dirent* entry = ::readdir(threads)) {
        const long thread = std::strtol(entry->d_name, nullptr, 10);
        if (thread > 0) seconds += seconds_of(clock_of_thread(thread));
    }
    ::closedir(threads);
    return seconds;
}

// The wall clock is read last here and first in read().
SampleWatch::SampleWatch()
    : preempted_(involuntary_switches()), stolen_s_(stolen_seconds({})), cpu_s_(threads_cpu_s()), start_s_(now_s()) {}

Sample SampleWatch::read(std::int64_t calls, int threads) const {
    const double wall = now_s() - start_s_;
    Sample sample;
    sample.seconds = wall / static_cast<double>(calls);
    sample.cpu_share = wall > 0 ? (threads_cpu_s() - cpu_s_) / (wall * threads) : 1;
    sample.preempted = involuntary_switches() - preempted_;
    sample.stolen_s = stolen_seconds({}) - stolen_s_;
    return sample;
}

}  // namespace roofline::core
