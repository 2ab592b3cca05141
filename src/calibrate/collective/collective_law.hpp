// The law of a collective's expected time: the cheapest of a few segments, each a base, steps and bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "network/system.hpp"

namespace roofline::core {

/// One collective as the law sees it. Bytes are given as the time they take at the link's published rate, so that
/// constants are fractions of that rate and carry over to other links.
struct CollectivePoint {
    std::int64_t members = 1;
    double buffer_bytes = 0;  ///< nccl-tests' size: the array, of an all-to-all and a permute one member's part of it
    double wire_s = 0;        ///< what must cross the busiest link, without reduction in the network
    double buffer_s = 0;      ///< buffer_bytes over the rate of the innermost tier's link
};

/// The point of a load whose whole array (V of docs/method/networks.md) has `bytes`. An all-reduce crosses the wires as
/// a reduce-scatter and an all-gather do, whatever the network can add up. Empty when a tier has no published rate, and
/// for a group of one.
[[nodiscard]] std::optional<CollectivePoint> collective_point(const CollectiveLoad& load, const System& system,
                                                              double bytes);

/// How the number of steps that follow one another grows with the group: n - 2 more than two members need (rings,
/// direct exchange), or log2(n) - 1 more (trees, reduction in the network).
enum class StepCount { linear, logarithmic };

/// base + step * steps(n) + wire_s / link + buffer_s / buffer + (n-1) * buffer_s / one_shot. The last three are
/// fractions of the link's rate; 0 leaves the term out. `buffer` stands for what is read and written once whatever n is
/// (copies, local sums), `one_shot` for a kernel in which every member fetches all buffers whole.
struct LawSegment {
    double base_s = 0;
    double step_s = 0;
    double link = 0;
    double buffer = 0;
    double one_shot = 0;

    bool operator==(const LawSegment&) const = default;
};

/// A size from which on other segments hold: a library's own threshold, where times jump.
struct LawLimit {
    double bytes = 0;
    bool of_piece = false;  ///< of the buffer over n, the piece that goes to one member; else of the buffer

    bool operator==(const LawLimit&) const = default;
};

struct LawCurve {
    StepCount steps = StepCount::linear;
    std::vector<LawSegment> segments;  ///< the cheapest counts
    std::optional<LawLimit> limit;
    std::vector<LawSegment> beyond;  ///< above the limit

    bool operator==(const LawCurve&) const = default;
};

/// The curve of groups of one size that was measured, where one for all does not do.
struct CountedCurve {
    std::int64_t members = 0;
    LawCurve curve;

    bool operator==(const CountedCurve&) const = default;
};

struct CollectiveLaw {
    LawCurve shared;
    std::vector<CountedCurve> counted;  ///< by members, ascending; `shared` holds for all others

    bool operator==(const CollectiveLaw&) const = default;
};

/// The segment that decides. The curve has segments.
[[nodiscard]] const LawSegment& cheapest(const LawCurve& curve, const CollectivePoint& point);
[[nodiscard]] double seconds_of(const LawSegment& segment, StepCount steps, const CollectivePoint& point);
[[nodiscard]] double seconds_of(const LawCurve& curve, const CollectivePoint& point);

[[nodiscard]] double seconds_of(const CollectiveLaw& law, const CollectivePoint& point);

/// The curve of this number of members, the shared one where it has none of its own.
[[nodiscard]] const LawCurve& curve_for(const CollectiveLaw& law, std::int64_t members);

}  // namespace roofline::core
