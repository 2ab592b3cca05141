#include "calibrate/collective/stand_in.hpp"

#include <algorithm>
#include <cmath>

#include "calibrate/collective/expected_collective.hpp"
#include "calibrate/constants.hpp"

namespace roofline::core {

namespace {

bool comparable(const CalibratedCollective& a, const CalibratedCollective& b) {
    return a.key.system == b.key.system && a.key.tiers == b.key.tiers && a.key.software == b.key.software &&
           a.key.variant == b.key.variant;
}

/// Returns the point of a collective among chips that one switch connects.
CollectivePoint point_on_switch(CollectiveKind kind, const CalibratedCollective& model, std::int64_t members,
                                double bytes) {
    const auto n = static_cast<double>(members);
    CollectivePoint point;
    point.members = members;
    point.buffer_bytes = bytes;
    point.buffer_s = bytes / model.link.bytes_per_s;
    point.wire_s = point.buffer_s * info(kind).bus_factor(n);
    return point;
}

Deviation deviation_of(const CalibratedCollective& asked, const CalibratedCollective& other, double part) {
    constexpr double step = 4;
    Deviation deviation;
    const double least = std::max(asked.least_bytes, other.least_bytes);
    const double most = std::min(asked.most_bytes, other.most_bytes);
    if (!(least > 0)) return deviation;
    for (const std::int64_t members : asked.members) {
        if (!std::binary_search(other.members.begin(), other.members.end(), members)) continue;
        for (double bytes = least; bytes <= most; bytes *= step) {
            const double fitted = seconds_of(asked.model, point_on_switch(asked.key.kind, asked, members, bytes));
            const auto seconds = [&](double array) {
                return seconds_of(other.model, point_on_switch(other.key.kind, other, members, array));
            };
            const double predicted = std::sqrt(part * seconds(bytes) * seconds(part * bytes));
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
    for (const CalibratedCollective& model : with_asked.models) {
        if (model.key.kind != asked || model.link.topology != compared_topology ||
            model.key.tiers.find('+') != std::string::npos)
            continue;
        for (const CalibratedCollective& other : with_instead.models) {
            if (other.key.kind == instead && comparable(model, other)) deviation.add(deviation_of(model, other, part));
        }
    }
    return deviation;
}

double Calibrations::stand_in_error(CollectiveKind asked, CollectiveKind instead, double part) {
    const auto known = stand_in_errors_.find({asked, instead});
    if (known != stand_in_errors_.end()) return known->second;
    Deviation deviation;
    for (const std::string& machine : machines()) {
        if (!may_have_switch_models(machine, models_of(asked))) continue;
        const Calibration& with_asked = *find(machine, models_of(asked));
        const Calibration& with_instead = *find(machine, models_of(instead));
        deviation.add(stand_in_deviation(with_asked, with_instead, asked, instead, part));
    }
    const double error = deviation.count > 0 ? deviation.sum / deviation.count : unvalidated_error;
    stand_in_errors_.emplace(std::pair(asked, instead), error);
    return error;
}

}  // namespace roofline::core
