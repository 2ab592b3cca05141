// Measures load-to-use latency: the time of a load whose address the previous load returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace roofline::core {

/// Makes a ring of pointers through `bytes` (at least 128) at `memory`, one pointer per 64 bytes, in random order; the
/// ring visits every line once.
void make_pointer_ring(char* memory, std::size_t bytes);

/// Follows the ring for `steps` loads and returns the last position.
[[nodiscard]] const char* follow_pointers(const char* start, std::int64_t steps);

/// A range of working sets with the same latency: a level of the memory hierarchy.
struct Plateau {
    std::size_t first_bytes = 0;
    std::size_t last_bytes = 0;
    double seconds = 0;  ///< median
};

struct LatencyPoint {
    std::size_t bytes = 0;
    double seconds = 0;  ///< per load
};

/// Finds ranges where latency stays about constant while the working set grows: at least two neighbouring points within
/// 20 % of one another, each plateau at least 1.5 times as slow as the previous one. `points` are sorted by size.
[[nodiscard]] std::vector<Plateau> find_plateaus(const std::vector<LatencyPoint>& points);

}  // namespace roofline::core
