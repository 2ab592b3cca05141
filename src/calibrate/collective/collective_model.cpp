#include "calibrate/collective/collective_model.hpp"

#include <algorithm>
#include <cmath>

#include "bound/network_pricing.hpp"
#include "calibrate/collective/curve_limit.hpp"

namespace roofline::core {

namespace {

double extra_steps(StepCount steps, std::int64_t members) {
    const auto n = static_cast<double>(members);
    switch (steps) {
        case StepCount::linear:
            return n - 2;
        case StepCount::logarithmic:
            return std::log2(n) - 1;
        case StepCount::hops:
            break;
    }
    return 0;
}

const std::vector<CurveSegment>& regime(const TimeCurve& curve, const CollectivePoint& point) {
    if (!curve.limit) return curve.segments;
    return size_for_limit(*curve.limit, point) > curve.limit->bytes ? curve.beyond : curve.segments;
}

}  // namespace

std::optional<CollectivePoint> collective_point(const CollectiveLoad& load, const System& system, double bytes) {
    if (load.members < 2 || load.tiers.empty()) return std::nullopt;
    CollectivePoint point;
    point.members = load.members;
    point.buffer_bytes = info(load.kind).size_of_member() ? bytes / static_cast<double>(load.members) : bytes;
    for (const TierLoad& tier : load.tiers) {
        const NetworkTier& network = system.slice.network(system.slice.tiers[tier.tier]);
        const auto rate = rate_of(network);
        if (!rate) return std::nullopt;
        if (has_axes(network)) point.latency_s += tier.latency_s;
        if (&tier == &load.tiers.front()) point.buffer_s = point.buffer_bytes / rate->value;
        point.wire_s = std::max(point.wire_s, bytes * tier.two_phase_bytes.to_double() / rate->value);
    }
    return point;
}

double size_for_limit(const CurveLimit& limit, const CollectivePoint& point) {
    return limit.of_piece ? point.buffer_bytes / static_cast<double>(point.members) : point.buffer_bytes;
}

double seconds_of(const CurveSegment& segment, StepCount steps, const CollectivePoint& point) {
    double seconds = segment.base_s + segment.step_s * extra_steps(steps, point.members);
    if (steps == StepCount::hops) seconds += point.latency_s;
    if (segment.link > 0) seconds += point.wire_s / segment.link;
    if (segment.buffer > 0) seconds += point.buffer_s / segment.buffer;
    if (segment.one_shot > 0) {
        seconds += static_cast<double>(point.members - 1) * point.buffer_s / segment.one_shot;
    }
    return seconds;
}

const CurveSegment& cheapest_of(const std::vector<CurveSegment>& segments, StepCount steps,
                                const CollectivePoint& point) {
    return *std::min_element(segments.begin(), segments.end(), [&](const CurveSegment& a, const CurveSegment& b) {
        return seconds_of(a, steps, point) < seconds_of(b, steps, point);
    });
}

const CurveSegment& cheapest(const TimeCurve& curve, const CollectivePoint& point) {
    return cheapest_of(regime(curve, point), curve.steps, point);
}

double seconds_of(const TimeCurve& curve, const CollectivePoint& point) {
    const double seconds = seconds_of(cheapest(curve, point), curve.steps, point);
    if (!curve.limit) return seconds;
    const double ratio = curve.limit->bytes / size_for_limit(*curve.limit, point);
    if (!(ratio < 1)) return seconds;
    // the time of a fit rises at its limit for measured group sizes, but not always for others
    CollectivePoint at_limit = point;
    at_limit.buffer_bytes *= ratio;
    at_limit.buffer_s *= ratio;
    at_limit.wire_s *= ratio;
    const CurveSegment& below = cheapest_of(curve.segments, curve.steps, at_limit);
    return std::max(seconds, seconds_of(below, curve.steps, at_limit));
}

double seconds_of(const CollectiveModel& model, const CollectivePoint& point) {
    return seconds_of(curve_for(model, point.members), point);
}

const TimeCurve& curve_for(const CollectiveModel& model, std::int64_t members) {
    const auto own = std::find_if(model.counted.begin(), model.counted.end(),
                                  [&](const CountedCurve& counted) { return counted.members == members; });
    return own == model.counted.end() ? model.shared : own->curve;
}

}  // namespace roofline::core
