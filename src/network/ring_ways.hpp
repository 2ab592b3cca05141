// Wires of a ring that count in one direction only, and how many of them lie on the ways between its places.
#pragma once

#include <cstdint>
#include <vector>

namespace roofline::core {

class RingWays {
public:
    /// By place: whether the wire up to it from the place below counts, and that down from it to the place below.
    RingWays(const std::vector<bool>& up, const std::vector<bool>& down);

    [[nodiscard]] std::int64_t wires() const { return up_.back() + down_.back(); }

    /// From each of these places (ascending) to all others of them, by what ways cross the fewest: the sum. A way ends before some
    /// gap between two neighbours, on both sides.
    [[nodiscard]] std::int64_t gathered(const std::vector<std::int64_t>& places) const;
    /// The same to each of them from all others.
    [[nodiscard]] std::int64_t scattered(const std::vector<std::int64_t>& places) const;
    /// From each to each, by itself.
    [[nodiscard]] std::int64_t exchanged(const std::vector<std::int64_t>& places) const;

private:
    [[nodiscard]] std::int64_t up(std::int64_t from, std::int64_t to) const;
    [[nodiscard]] std::int64_t down(std::int64_t from, std::int64_t to) const;
    [[nodiscard]] std::int64_t trees(const std::vector<std::int64_t>& places, bool inwards) const;

    // Wires that count below each place, but for that between the last place and the first; then all of them.
    std::vector<std::int64_t> up_;
    std::vector<std::int64_t> down_;
};

}  // namespace roofline::core
