// The cores that may be used, and the caches between them and memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace roofline::core {

struct CpuCache {
    int level = 1;
    std::int64_t bytes = 0;      ///< per instance
    std::int64_t instances = 1;  ///< that serve the cores in use
    std::int64_t cores = 1;      ///< cores in use that share an instance
};

struct CpuTopology {
    std::vector<int> cpus;  ///< one logical processor per core that may be used
    int logical = 0;        ///< number of logical processors that may be used
    int packages = 0;       ///< 0: unknown
    int numa_nodes = 0;
    std::vector<CpuCache> caches;  ///< data and unified caches, L1 first
    std::string source;            ///< "hwloc 2.9.0", "/sys/devices/system/cpu"; "" if there is none
    std::vector<std::string> notes;
};

/// Reports the topology of some logical processors; the module hwloc implements it.
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

/// Limit on processor time by control groups, in processors; 0: no limit. `root` is where the kernel mounts them:
/// /sys/fs/cgroup.
[[nodiscard]] double cgroup_cpu_limit(const std::string& root, const std::string& own_group);
/// The group of this process in the unified hierarchy, "/user.slice/..."; "" if there is none.
[[nodiscard]] std::string own_cgroup();

/// Parses a list such as "0-3,8"; empty if the text is not a list.
[[nodiscard]] std::vector<int> parse_cpu_list(const std::string& text);

/// Topology from the kernel's files below `root`, /sys/devices/system/cpu.
[[nodiscard]] Result<CpuTopology> sysfs_topology(const std::string& root, const std::vector<int>& allowed);

/// Topology from hwloc if the module is built, else from the kernel; if neither works, the allowed processors without
/// caches. Notes say what is missing.
[[nodiscard]] CpuTopology cpu_topology();

/// Memory that this process may use: that of the machine, or its control group's limit if that is lower. Bytes; 0:
/// unknown.
[[nodiscard]] std::int64_t usable_memory();

}  // namespace roofline::core
