#include "calibrate/collective/kindred.hpp"

#include <algorithm>
#include <cmath>

namespace roofline::core {

namespace {

bool comparable(const CalibratedLaw& a, const CalibratedLaw& b) {
    return a.key.system == b.key.system && a.key.tiers == b.key.tiers && a.key.software == b.key.software &&
           a.key.variant == b.key.variant;
}

/// A buffer of chips that a switch connects.
CollectivePoint switched(CollectiveKind kind, const CalibratedLaw& law, std::int64_t members, double bytes) {
    const auto n = static_cast<double>(members);
    CollectivePoint point;
    point.members = members;
    point.buffer_bytes = bytes;
    point.buffer_s = bytes / law.link.bytes_per_s;
    point.wire_s = point.buffer_s * info(kind).bus_factor(n);
    return point;
}

Deviation deviation_of(const CalibratedLaw& asked, const CalibratedLaw& other, double part) {
    constexpr double step = 4;
    Deviation deviation;
    const double least = std::max(asked.least_bytes, other.least_bytes);
    const double most = std::min(asked.most_bytes, other.most_bytes);
    if (!(least > 0)) return deviation;
    for (const std::int64_t members : asked.members) {
        if (!std::binary_search(other.members.begin(), other.members.end(), members)) continue;
        for (double bytes = least; bytes <= most; bytes *= step) {
            const double fitted = seconds_of(asked.law, switched(asked.key.kind, asked, members, bytes));
            const double predicted = part * seconds_of(other.law, switched(other.key.kind, other, members, bytes));
            if (!(fitted > 0)) continue;
            deviation.add({std::abs(predicted - fitted) / fitted, 1});
        }
    }
    return deviation;
}

}  // namespace

Deviation stand_in_deviation(const Calibration& with_asked, const Calibration& with_instead, CollectiveKind asked,
                             CollectiveKind instead, double part) {
    Deviation deviation;
    for (const CalibratedLaw& law : with_asked.laws) {
        if (law.key.kind != asked || law.link.topology != compared_topology ||
            law.key.tiers.find('+') != std::string::npos)
            continue;
        for (const CalibratedLaw& other : with_instead.laws) {
            if (other.key.kind == instead && comparable(law, other)) deviation.add(deviation_of(law, other, part));
        }
    }
    return deviation;
}

}  // namespace roofline::core
