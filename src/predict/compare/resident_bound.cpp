#include "predict/compare/resident_bound.hpp"

#include <algorithm>

namespace roofline::core {

std::vector<CacheRoof> caches_of(const Machine& machine) {
    std::vector<CacheRoof> caches;
    for (const MemoryLevel& level : machine.memory) {
        const auto capacity = level.total_capacity();
        if (level.id == "hbm" || level.managed != Managed::hardware || !capacity) continue;
        caches.push_back({capacity->value, {}});
        if (level.bandwidth.value) caches.back().bytes_per_s = level.bandwidth.value->value;
    }
    std::reverse(caches.begin(), caches.end());
    return caches;
}

std::optional<double> resident_bound(const std::vector<CacheRoof>& caches, const ResidentTimes& times) {
    if (caches.empty()) return std::nullopt;
    double others = 0;
    for (std::size_t i = 0; i < times.seconds.size(); ++i) {
        if (i != times.memory) others = std::max(others, times.seconds[i]);
    }
    const double memory_s = times.seconds[times.memory];
    const auto cache =
        std::find_if(caches.begin(), caches.end(), [&](const CacheRoof& each) { return times.bytes <= each.capacity; });
    if (cache == caches.end()) {
        double kept = 0;
        for (const CacheRoof& each : caches) kept = std::max(kept, each.capacity);
        kept *= static_cast<double>(times.kernels);
        return std::max(others, memory_s - kept / times.memory_rate);
    }
    // a cache without a published bandwidth imposes no bound
    if (!cache->bytes_per_s) return others;
    return std::max(others, memory_s * times.memory_rate / *cache->bytes_per_s);
}

}  // namespace roofline::core
