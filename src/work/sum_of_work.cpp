// Sums and multiples of work.
#include <algorithm>

#include "work/work.hpp"

namespace roofline::core {

void Work::add_flops(Unit unit, Dtype dtype, const Polynomial& flops) {
    if (flops.is_zero()) return;
    for (ComputeWork& entry : compute) {
        if (entry.unit == unit && entry.dtype == dtype) {
            entry.flops += flops;
            return;
        }
    }
    compute.push_back({unit, dtype, flops});
}

Work& Work::operator+=(const Work& other) {
    for (const ComputeWork& entry : other.compute) add_flops(entry.unit, entry.dtype, entry.flops);
    transcendentals += other.transcendentals;
    for (const auto& [level, traffic] : other.memory) {
        memory[level].read += traffic.read;
        memory[level].write += traffic.write;
    }
    messages.insert(messages.end(), other.messages.begin(), other.messages.end());
    return *this;
}

Work Work::times(const Polynomial& count) const {
    Work work;
    for (const ComputeWork& entry : compute) work.add_flops(entry.unit, entry.dtype, entry.flops * count);
    work.transcendentals = transcendentals * count;
    for (const auto& [level, traffic] : memory) work.memory[level] = {traffic.read * count, traffic.write * count};
    for (const MessageWork& each : messages) work.messages.push_back({each.message, each.count * count});
    return work;
}

Polynomial Work::flops() const {
    Polynomial sum;
    for (const ComputeWork& entry : compute) sum += entry.flops;
    return sum;
}

Polynomial Work::flops(Unit unit) const {
    Polynomial sum;
    for (const ComputeWork& entry : compute) {
        if (entry.unit == unit) sum += entry.flops;
    }
    return sum;
}

bool Work::overflowed() const {
    const bool memory_overflowed = std::any_of(memory.begin(), memory.end(), [](const auto& entry) {
        return entry.second.read.overflowed() || entry.second.write.overflowed();
    });
    return memory_overflowed || transcendentals.overflowed() || flops().overflowed();
}

}  // namespace roofline::core
