// Processor statistics of the kernel: time that a hypervisor took, and time that other processes used.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "measure/sampling.hpp"
#include "measure/stop.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t idle_field = 3;
constexpr std::size_t iowait_field = 4;
constexpr std::size_t steal_field = 7;

std::string proc_stat() {
    std::ifstream file("/proc/stat");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Ticks of one line such as "cpu0 12 0 7 ..."; columns after steal are included in the first ones.
std::vector<double> ticks_of(std::string_view line) {
    std::vector<double> ticks;
    std::size_t at = line.find(' ');
    while (at < line.size() && ticks.size() <= steal_field) {
        const std::size_t begin = line.find_first_not_of(' ', at);
        if (begin == std::string_view::npos) break;
        double value = 0;
        const auto [end, error] = std::from_chars(line.data() + begin, line.data() + line.size(), value);
        if (error != std::errc{}) break;
        ticks.push_back(value);
        at = static_cast<std::size_t>(end - line.data());
    }
    return ticks;
}

/// Processor number of a line; -1: all processors; -2: not such a line.
int cpu_of(std::string_view line) {
    if (!line.starts_with("cpu")) return -2;
    const std::string_view number = line.substr(3, line.find(' ') - 3);
    if (number.empty()) return -1;
    int cpu = -2;
    std::from_chars(number.data(), number.data() + number.size(), cpu);
    return cpu;
}

template <class Visit>
void each_cpu(std::string_view stat, Visit visit) {
    for (std::size_t begin = 0; begin < stat.size();) {
        std::size_t end = stat.find('\n', begin);
        if (end == std::string_view::npos) end = stat.size();
        const std::string_view line = stat.substr(begin, end - begin);
        const int cpu = cpu_of(line);
        if (cpu >= -1) visit(cpu, ticks_of(line));
        begin = end + 1;
    }
}

struct ProcLoad {
    double all = 0;
    double busy = 0;
};

ProcLoad load_now() {
    ProcLoad load;
    each_cpu(proc_stat(), [&](int cpu, const std::vector<double>& ticks) {
        if (cpu != -1) return;
        for (std::size_t i = 0; i < ticks.size(); ++i) {
            load.all += ticks[i];
            if (i != idle_field && i != iowait_field) load.busy += ticks[i];
        }
    });
    return load;
}

}  // namespace

double stolen_seconds(std::string_view stat, const std::vector<int>& cpus, double ticks_per_second) {
    double stolen = 0;
    each_cpu(stat, [&](int cpu, const std::vector<double>& ticks) {
        bool wanted = cpus.empty() && cpu == -1;
        for (const int each : cpus) wanted = wanted || each == cpu;
        if (wanted && ticks.size() > steal_field) stolen += ticks[steal_field];
    });
    return ticks_per_second > 0 ? stolen / ticks_per_second : 0;
}

double stolen_seconds(const std::vector<int>& cpus) {
    return stolen_seconds(proc_stat(), cpus, static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

double wait_until_idle(double max_duration_s) {
    constexpr double idle_enough = 0.05;
    constexpr auto window = std::chrono::milliseconds(200);
    const auto start = std::chrono::steady_clock::now();
    double share = 1;
    while (!stop_requested()) {
        const ProcLoad before = load_now();
        std::this_thread::sleep_for(window);
        const ProcLoad after = load_now();
        share = after.all > before.all ? (after.busy - before.busy) / (after.all - before.all) : 0;
        const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
        if (share <= idle_enough || waited.count() >= max_duration_s) break;
    }
    return share;
}

}  // namespace roofline::core
