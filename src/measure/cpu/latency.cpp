#include "measure/cpu/latency.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace roofline::core {

namespace {

constexpr std::size_t line_bytes = 64;

/// Marsaglia's xorshift64: no pattern that a prefetcher could predict.
class Scatter {
public:
    std::size_t below(std::size_t bound) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::size_t>(state_ % bound);
    }

private:
    std::uint64_t state_ = 0x9e3779b97f4a7c15U;
};

}  // namespace

void make_pointer_ring(char* memory, std::size_t bytes) {
    const std::size_t lines = bytes / line_bytes;
    std::vector<std::uint32_t> next(lines);
    std::iota(next.begin(), next.end(), 0U);
    // Sattolo's shuffle: a single cycle through all lines
    Scatter scatter;
    for (std::size_t i = lines; i-- > 1;) std::swap(next[i], next[scatter.below(i)]);
    for (std::size_t i = 0; i < lines; ++i) {
        const char* target = memory + line_bytes * next[i];
        std::memcpy(memory + line_bytes * i, static_cast<const void*>(&target), sizeof target);
    }
}

const char* follow_pointers(const char* start, std::int64_t steps) {
    const char* at = start;
    for (std::int64_t step = 0; step < steps; ++step) {
        const char* next = nullptr;
        std::memcpy(static_cast<void*>(&next), at, sizeof next);
        at = next;
        asm volatile("" : "+r"(at));
    }
    return at;
}

std::vector<Plateau> find_plateaus(const std::vector<LatencyPoint>& points) {
    constexpr double alike = 1.2;
    constexpr double apart = 1.5;
    std::vector<Plateau> plateaus;
    for (std::size_t i = 0; i < points.size();) {
        std::size_t end = i + 1;
        while (end < points.size() && points[end].seconds <= alike * points[i].seconds) ++end;
        if (end - i < 2) {
            ++i;
            continue;
        }
        std::vector<double> seconds;
        for (std::size_t k = i; k < end; ++k) seconds.push_back(points[k].seconds);
        std::sort(seconds.begin(), seconds.end());
        const Plateau plateau{points[i].bytes, points[end - 1].bytes, seconds[seconds.size() / 2]};
        if (plateaus.empty() || plateau.seconds >= apart * plateaus.back().seconds) {
            plateaus.push_back(plateau);
        } else {
            plateaus.back().last_bytes = plateau.last_bytes;
        }
        i = end;
    }
    return plateaus;
}

}  // namespace roofline::core
