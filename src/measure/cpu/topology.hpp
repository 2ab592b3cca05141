// The cores that may be used, and the caches between them and memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

struct CpuCache {
    int level = 1;
    std::int64_t bytes = 0;      ///< of one instance
    std::int64_t instances = 1;  ///< that serve the cores in use
    std::int64_t cores = 1;      ///< cores in use that share an instance
};

struct CpuTopology {
    std::vector<int> cpus;  ///< a logical processor of every core that may be used
    int logical = 0;        ///< logical processors that may be used
    int packages = 0;       ///< 0: not known
    int numa_nodes = 0;
    std::vector<CpuCache> caches;  ///< data and unified ones, L1 first
    std::string source;            ///< "hwloc 2.9.0", "/sys/devices/system/cpu"; "" when nothing told
    std::vector<std::string> notes;
};

/// Tells the topology of some logical processors; the module hwloc is one.
class TopologySource {
public:
    TopologySource() = default;
    TopologySource(const TopologySource&) = delete;
    TopologySource& operator=(const TopologySource&) = delete;
    virtual ~TopologySource() = default;
    [[nodiscard]] virtual Result<CpuTopology> topology(const std::vector<int>& allowed) = 0;
};

/// Logical processors that this process may run on.
[[nodiscard]] std::vector<int> allowed_cpus();

/// Processors' worth of time that control groups grant; 0: no limit. `root` is where the kernel shows them: /sys/fs/cgroup.
[[nodiscard]] double cgroup_cpu_limit(const std::string& root, const std::string& own_group);
/// The group of this process in the unified hierarchy, "/user.slice/..."; "" when there is none.
[[nodiscard]] std::string own_cgroup();

/// "0-3,8" as numbers; empty when it is none.
[[nodiscard]] std::vector<int> parse_cpu_list(const std::string& text);

/// From the kernel's own files below `root`, /sys/devices/system/cpu.
[[nodiscard]] Result<CpuTopology> sysfs_topology(const std::string& root, const std::vector<int>& allowed);

/// From hwloc where the module is built, else from the kernel; with neither, the allowed processors without caches. Notes say what
/// is missing.
[[nodiscard]] CpuTopology cpu_topology();

/// Memory that this process may fill: the machine's, or its control group's limit when that is less. Bytes; 0: not told.
[[nodiscard]] std::int64_t usable_memory();

}  // namespace roofline::core
