// Links of a ring that count in one direction only, and how many of them are on the paths between its positions.
#pragma once

#include <cstdint>
#include <vector>

namespace roofline::core {

class RingPaths {
public:
    /// By position: whether the link up to it from the position below counts, and whether the link down from it counts.
    RingPaths(const std::vector<bool>& up, const std::vector<bool>& down);

    [[nodiscard]] std::int64_t links() const { return up_.back() + down_.back(); }

    /// The sum over these positions (ascending) of the fewest counted links that paths from it to all the others cross.
    /// The paths end before some gap between two neighbours, on both sides.
    [[nodiscard]] std::int64_t gathered(const std::vector<std::int64_t>& places) const;
    /// The same for paths to each position from all others.
    [[nodiscard]] std::int64_t scattered(const std::vector<std::int64_t>& places) const;
    /// The same for separate paths from each position to each other one.
    [[nodiscard]] std::int64_t exchanged(const std::vector<std::int64_t>& places) const;

private:
    [[nodiscard]] std::int64_t up(std::int64_t from, std::int64_t to) const;
    [[nodiscard]] std::int64_t down(std::int64_t from, std::int64_t to) const;
    [[nodiscard]] std::int64_t trees(const std::vector<std::int64_t>& places, bool inwards) const;

    // The number of counted links below each position, except that between the last and the first; then the total.
    std::vector<std::int64_t> up_;
    std::vector<std::int64_t> down_;
};

}  // namespace roofline::core
