// How long a load takes whose address the load before it brought.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace roofline::core {

/// Makes a ring of pointers through `bytes` at `memory`, one in every 64 bytes, in an order without pattern, that comes by every line
/// once. `bytes`: at least 128.
void make_pointer_ring(char* memory, std::size_t bytes);

/// Follows the ring so many steps, and returns where that ends.
[[nodiscard]] const char* follow_pointers(const char* start, std::int64_t steps);

/// Working sets that take one latency: a level of the memory.
struct Plateau {
    std::size_t first_bytes = 0;
    std::size_t last_bytes = 0;
    double seconds = 0;  ///< the median
};

struct LatencyPoint {
    std::size_t bytes = 0;
    double seconds = 0;  ///< of one load
};

/// Where latency stays about the same while the working set grows: at least two neighbours within a fifth of one another, each
/// plateau at least 1.5 times as slow as the one before. `points` by size.
[[nodiscard]] std::vector<Plateau> find_plateaus(const std::vector<LatencyPoint>& points);

}  // namespace roofline::core
