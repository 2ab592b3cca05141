// The collective model: the expected time is that of the cheapest of a few segments, each with a constant, a time per
// step and a time per byte.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "network/system.hpp"

namespace roofline::core {

/// The input of the model for one collective. Bytes are given as their time at the published rate of the link, so that
/// the model's parameters are fractions of this rate and can be transferred to other links.
struct CollectivePoint {
    std::int64_t members = 1;
    /// Size as nccl-tests define it: the array; for an all-to-all or a permute one member's part of it.
    double buffer_bytes = 0;
    double wire_s = 0;     ///< time of the bytes that cross the busiest link, without reduction in the network
    double buffer_s = 0;   ///< buffer_bytes over the rate of the innermost tier's link
    double latency_s = 0;  ///< on a torus: the published latency of the hops to the farthest chip; otherwise 0
};

/// Returns the point of a load whose whole array (V of docs/method/networks.md) has `bytes` bytes. An all-reduce sends
/// the bytes of a reduce-scatter and an all-gather, even if the network can reduce. Empty if a tier has no published
/// rate, and for a group of one.
[[nodiscard]] std::optional<CollectivePoint> collective_point(const CollectiveLoad& load, const System& system,
                                                              double bytes);

/// How the number of sequential steps grows with the size n of the group: n - 2 steps more than for two members (rings,
/// direct exchange), or log2(n) - 1 more (trees, reduction in the network). On a torus the hops to the farthest chip
/// count, each with its published latency, which measurements of slices of one size cannot tell from the constant.
enum class StepCount { linear, logarithmic, hops };

/// One segment of a curve, in seconds: base + step * steps(n) + wire_s / link + buffer_s / buffer + (n-1) * buffer_s /
/// one_shot; StepCount::hops adds latency_s. The last three parameters are fractions of the link's rate; 0 omits one.
/// The `buffer` term is for data read and written once whatever n is (copies, local sums), the `one_shot` term for a
/// kernel in which every member reads the whole buffers of all others.
struct CurveSegment {
    double base_s = 0;
    double step_s = 0;
    double link = 0;
    double buffer = 0;
    double one_shot = 0;

    bool operator==(const CurveSegment&) const = default;
};

/// A size above which other segments apply: a threshold of the library at which the time is discontinuous.
struct CurveLimit {
    double bytes = 0;
    bool of_piece = false;  ///< compare the buffer over n, which is the piece of one member, instead of the buffer

    bool operator==(const CurveLimit&) const = default;
};

/// The time as a function of the size: the minimum over segments, with other segments above the limit if there is one.
struct TimeCurve {
    StepCount steps = StepCount::linear;
    std::vector<CurveSegment> segments;  ///< the cheapest one applies
    std::optional<CurveLimit> limit;
    std::vector<CurveSegment> beyond;  ///< segments above the limit

    bool operator==(const TimeCurve&) const = default;
};

/// The curve for one measured group size, if the shared curve does not fit it.
struct CountedCurve {
    std::int64_t members = 0;
    TimeCurve curve;

    bool operator==(const CountedCurve&) const = default;
};

/// The parameters of a collective: one curve for all group sizes, and curves of their own for some sizes.
struct CollectiveModel {
    TimeCurve shared;
    std::vector<CountedCurve> counted;  ///< by members, ascending; `shared` applies to all other sizes

    bool operator==(const CollectiveModel&) const = default;
};

/// Returns the cheapest segment. The curve must have segments.
[[nodiscard]] const CurveSegment& cheapest(const TimeCurve& curve, const CollectivePoint& point);
/// Returns the seconds of one segment at a point.
[[nodiscard]] double seconds_of(const CurveSegment& segment, StepCount steps, const CollectivePoint& point);
/// Returns the seconds of the cheapest segment at a point.
[[nodiscard]] double seconds_of(const TimeCurve& curve, const CollectivePoint& point);

/// Returns the seconds of a collective by the curve for its number of members.
[[nodiscard]] double seconds_of(const CollectiveModel& model, const CollectivePoint& point);

/// Returns the curve for this number of members; the shared one if it has none of its own.
[[nodiscard]] const TimeCurve& curve_for(const CollectiveModel& model, std::int64_t members);

}  // namespace roofline::core
