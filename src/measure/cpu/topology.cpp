#include "measure/cpu/topology.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "measure/module.hpp"

namespace roofline::core {

namespace {

constexpr int most_caches = 16;

/// First line of a file; "" if it cannot be read.
std::string line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::int64_t number_of(const std::string& text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// Parses sizes such as "32K", "8M".
std::int64_t bytes_of(const std::string& text) {
    const std::int64_t value = std::clamp(number_of(text), std::int64_t{0}, std::int64_t{1} << 30);
    if (text.find('K') != std::string::npos) return value * 1024;
    return text.find('M') != std::string::npos ? value * 1024 * 1024 : value;
}

/// Quota over period of one group: "200000 100000", "max 100000"; 0: no limit.
double quota_of(const std::string& text) {
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || text.starts_with("max")) return 0;
    const auto quota = static_cast<double>(number_of(text));
    const auto period = static_cast<double>(number_of(text.substr(space + 1)));
    return quota > 0 && period > 0 ? quota / period : 0;
}

/// Visits the group and the groups that contain it, innermost first.
template <class Visit>
void each_group(const std::string& root, std::string group, Visit visit) {
    while (true) {
        visit(root + group);
        const std::size_t slash = group.rfind('/');
        if (group.empty() || slash == std::string::npos) return;
        group.resize(slash);
    }
}

void add_caches(const std::string& cpu_root, int cpu, const std::set<int>& used,
                std::map<int, std::pair<std::int64_t, std::set<std::vector<int>>>>& caches) {
    for (int index = 0; index < most_caches; ++index) {
        const std::string base = fmt::format("{}/cpu{}/cache/index{}/", cpu_root, cpu, index);
        const std::string type = line_of(base + "type");
        if (type.empty()) return;
        if (type == "Instruction") continue;
        std::vector<int> sharing;
        for (const int each : parse_cpu_list(line_of(base + "shared_cpu_list"))) {
            if (used.contains(each)) sharing.push_back(each);
        }
        auto& [bytes, instances] = caches[static_cast<int>(number_of(line_of(base + "level")))];
        bytes = bytes_of(line_of(base + "size"));
        instances.insert(std::move(sharing));
    }
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
    constexpr int most = 1 << 16;
    std::vector<int> cpus;
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    while (at < end) {
        int first = 0;
        auto read = std::from_chars(at, end, first);
        if (read.ec != std::errc{} || first < 0 || first > most) return {};
        int last = first;
        at = read.ptr;
        if (at < end && *at == '-') {
            read = std::from_chars(at + 1, end, last);
            if (read.ec != std::errc{} || last < first || last > most) return {};
            at = read.ptr;
        }
        for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
        if (at < end && *at != ',') break;
        ++at;
    }
    return cpus;
}

std::vector<int> allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (::sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) cpus.push_back(cpu);
        }
    }
    if (cpus.empty()) cpus.push_back(0);
    return cpus;
}

std::string own_cgroup() {
    std::ifstream file("/proc/self/cgroup");
    std::string line;
    while (std::getline(file, line)) {
        if (line.starts_with("0::")) return line.size() > 4 ? line.substr(3) : "";
    }
    return "";
}

double cgroup_cpu_limit(const std::string& root, const std::string& own_group) {
    double least = 0;
    each_group(root, own_group, [&](const std::string& group) {
        const double limit = quota_of(line_of(group + "/cpu.max"));
        if (limit > 0 && (least == 0 || limit < least)) least = limit;
    });
    return least;
}

Result<CpuTopology> sysfs_topology(const std::string& root, const std::vector<int>& allowed) {
    CpuTopology topology;
    topology.source = root;
    topology.logical = static_cast<int>(allowed.size());
    std::set<int> seen;
    std::set<std::string> packages;
    for (const int cpu : allowed) {
        const std::string base = fmt::format("{}/cpu{}/topology/", root, cpu);
        const std::string siblings = line_of(base + "thread_siblings_list");
        if (siblings.empty()) return fail("absent", fmt::format("no topology below {}", root));
        if (seen.contains(cpu)) continue;
        topology.cpus.push_back(cpu);
        seen.insert(cpu);
        for (const int sibling : parse_cpu_list(siblings)) seen.insert(sibling);
        packages.insert(line_of(base + "physical_package_id"));
    }
    topology.packages = static_cast<int>(packages.size());
    const std::set<int> used(topology.cpus.begin(), topology.cpus.end());
    std::map<int, std::pair<std::int64_t, std::set<std::vector<int>>>> caches;
    for (const int cpu : topology.cpus) add_caches(root, cpu, used, caches);
    for (const auto& [level, cache] : caches) {
        const auto& [bytes, instances] = cache;
        if (level < 1 || bytes < 1024) continue;
        std::size_t most = 1;
        for (const auto& sharing : instances) most = std::max(most, sharing.size());
        topology.caches.push_back(
            {level, bytes, static_cast<std::int64_t>(instances.size()), static_cast<std::int64_t>(most)});
    }
    return topology;
}

CpuTopology cpu_topology() {
    const std::vector<int> allowed = allowed_cpus();
    auto hwloc = load_module_as<TopologySource>("hwloc", "topology from hwloc", "libhwloc-dev");
    if (hwloc) {
        auto topology = (*hwloc)->topology(allowed);
        if (topology && !topology->cpus.empty()) return *topology;
    }
    const std::string without = "without hwloc";
    auto topology = sysfs_topology("/sys/devices/system/cpu", allowed);
    if (topology) {
        topology->notes.push_back(without + ": cores and caches are those that the kernel reports");
        return *topology;
    }
    CpuTopology bare;
    bare.cpus = allowed;
    bare.logical = static_cast<int>(allowed.size());
    bare.notes.push_back(without +
                         " and without the kernel's topology: cache sizes are derived from the latencies alone");
    return bare;
}

std::int64_t usable_memory() {
    std::int64_t bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
    each_group("/sys/fs/cgroup", own_cgroup(), [&](const std::string& group) {
        const std::int64_t limit = number_of(line_of(group + "/memory.max"));
        if (limit > 0) bytes = bytes > 0 ? std::min(bytes, limit) : limit;
    });
    return std::max(bytes, std::int64_t{0});
}

}  // namespace roofline::core
