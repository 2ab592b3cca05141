#include "report/machine/machine_roofs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bound/pricing.hpp"

namespace roofline::core {

std::vector<PlotRoof> roofs_of(const Machine& machine) {
    std::vector<PlotRoof> roofs;
    for (const MemoryLevel& level : machine.memory) {
        if (!level.bandwidth.value) continue;
        roofs.push_back(
            {level_label(machine, level.id), level.bandwidth.value->value, level.bandwidth.low_confidence()});
    }
    return roofs;
}

std::vector<PlotCeiling> ceilings_of(const Machine& machine) {
    struct Entry {
        Unit unit;
        double rate;
        std::vector<std::string> dtypes;
        bool low = false;
    };
    std::vector<Entry> entries;
    for (const Peak& peak : machine.peaks) {
        if (!peak.rate.value || machine.peak(peak.unit, peak.dtype) != &peak) continue;
        const double rate = peak.rate.value->value;
        const auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
            return entry.unit == peak.unit && entry.rate == rate;
        });
        if (same != entries.end()) {
            same->dtypes.emplace_back(name(peak.dtype));
            same->low = same->low || peak.rate.low_confidence();
        } else {
            entries.push_back({peak.unit, rate, {std::string(name(peak.dtype))}, peak.rate.low_confidence()});
        }
    }
    std::vector<PlotCeiling> ceilings;
    for (const Entry& entry : entries) {
        ceilings.push_back({fmt::format("{} {}", fmt::join(entry.dtypes, ", "), name(entry.unit)), entry.rate,
                            entry.unit == Unit::vector, entry.low});
    }
    return ceilings;
}

}  // namespace roofline::core
