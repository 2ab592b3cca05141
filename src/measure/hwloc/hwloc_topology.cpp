// Topology from hwloc.
#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>

#include "measure/cpu/topology.hpp"
#include "measure/module.hpp"

namespace roofline::core {

namespace {

/// Owns an hwloc topology.
class Loaded {
public:
    Loaded() {
        if (hwloc_topology_init(&topology_) != 0) return;
        ready_ = hwloc_topology_load(topology_) == 0;
    }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;
    ~Loaded() {
        if (topology_ != nullptr) hwloc_topology_destroy(topology_);
    }
    [[nodiscard]] bool ready() const { return ready_; }
    [[nodiscard]] hwloc_topology_t get() const { return topology_; }

private:
    hwloc_topology_t topology_ = nullptr;
    bool ready_ = false;
};

bool has(hwloc_const_cpuset_t set, int cpu) { return hwloc_bitmap_isset(set, static_cast<unsigned>(cpu)) != 0; }

/// The first allowed processor of every core.
std::vector<int> one_of_each_core(hwloc_topology_t topology, const std::vector<int>& allowed) {
    std::vector<int> cpus;
    const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    for (int i = 0; i < cores; ++i) {
        const hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
        const auto found =
            std::find_if(allowed.begin(), allowed.end(), [&](int cpu) { return has(core->cpuset, cpu); });
        if (found != allowed.end()) cpus.push_back(*found);
    }
    return cpus;
}

void add_level(hwloc_topology_t topology, int depth, const std::vector<int>& cpus, CpuTopology& result) {
    CpuCache cache;
    cache.instances = 0;
    const unsigned count = hwloc_get_nbobjs_by_depth(topology, depth);
    for (unsigned i = 0; i < count; ++i) {
        const hwloc_obj_t object = hwloc_get_obj_by_depth(topology, depth, i);
        if (hwloc_obj_type_is_dcache(object->type) == 0) return;
        const auto sharing = std::count_if(cpus.begin(), cpus.end(), [&](int cpu) { return has(object->cpuset, cpu); });
        if (sharing == 0) continue;
        cache.level = static_cast<int>(object->attr->cache.depth);
        cache.bytes = static_cast<std::int64_t>(object->attr->cache.size);
        cache.instances += 1;
        cache.cores = std::max(cache.cores, static_cast<std::int64_t>(sharing));
    }
    if (cache.instances > 0 && cache.bytes >= 1024) result.caches.push_back(cache);
}

class HwlocTopology : public TopologySource {
public:
    Result<CpuTopology> topology(const std::vector<int>& allowed) override {
        const Loaded loaded;
        if (!loaded.ready()) return fail("absent", "hwloc found no topology");
        CpuTopology result;
        result.logical = static_cast<int>(allowed.size());
        result.cpus = one_of_each_core(loaded.get(), allowed);
        result.packages = std::max(0, hwloc_get_nbobjs_by_type(loaded.get(), HWLOC_OBJ_PACKAGE));
        result.numa_nodes = std::max(0, hwloc_get_nbobjs_by_type(loaded.get(), HWLOC_OBJ_NUMANODE));
        for (int depth = hwloc_topology_get_depth(loaded.get()); depth-- > 0;) {
            add_level(loaded.get(), depth, result.cpus, result);
        }
        std::sort(result.caches.begin(), result.caches.end(),
                  [](const CpuCache& a, const CpuCache& b) { return a.level < b.level; });
        const unsigned version = hwloc_get_api_version();
        result.source = fmt::format("hwloc {}.{}", version >> 16, (version >> 8) & 0xff);
        return result;
    }
};

HwlocTopology the_topology;

}  // namespace

}  // namespace roofline::core

ROOFLINE_MODULE(hwloc, roofline::core::TopologySource, roofline::core::the_topology);
