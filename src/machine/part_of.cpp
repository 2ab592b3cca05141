#include "machine/machine.hpp"

namespace roofline::core {

namespace {

template <class Q>
void divide(Figure<Q>& figure, double parts) {
    if (figure.value) figure.value->value /= parts;
    for (Alternative& other : figure.alternatives) other.value /= parts;
}

// Whole caches are assigned to the parts as far as possible.
void divide(MemoryLevel& level, std::int64_t parts) {
    if (level.instances % parts == 0) {
        level.instances /= parts;
    } else {
        divide(level.capacity, static_cast<double>(parts) / static_cast<double>(level.instances));
        level.instances = 1;
    }
    divide(level.bandwidth, static_cast<double>(parts));
    divide(level.measured_bandwidth, static_cast<double>(parts));
}

}  // namespace

Machine part_of(Machine machine, std::int64_t parts) {
    if (parts <= 1) return machine;
    const auto by = static_cast<double>(parts);
    for (Peak& peak : machine.peaks) divide(peak.rate, by);
    for (MemoryLevel& level : machine.memory) divide(level, parts);
    if (machine.host) {
        divide(machine.host->bandwidth, by);
        divide(machine.host->measured_bandwidth, by);
        divide(machine.host->memory_capacity, by);
        divide(machine.host->memory_bandwidth, by);
    }
    divide(machine.power, by);
    for (PriceQuote& quote : machine.prices) {
        for (double& price : quote.usd_per_chip_hour) price /= by;
    }
    if (machine.price) machine.price->value /= by;
    if (machine.cores % parts == 0) {
        machine.cores /= parts;
    } else {
        machine.cores = 0;  // a part of a core is not a core
    }
    return machine;
}

}  // namespace roofline::core
