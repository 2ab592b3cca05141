#include "network/ring_paths.hpp"

#include <algorithm>

namespace roofline::core {

namespace {

std::vector<std::int64_t> sums_of(const std::vector<bool>& counted) {
    std::vector<std::int64_t> sums = {0};
    for (std::size_t place = 1; place < counted.size(); ++place) sums.push_back(sums.back() + (counted[place] ? 1 : 0));
    sums.push_back(sums.back() + (counted.front() ? 1 : 0));
    return sums;
}

}  // namespace

RingPaths::RingPaths(const std::vector<bool>& up, const std::vector<bool>& down)
    : up_(sums_of(up)), down_(sums_of(down)) {}

std::int64_t RingPaths::up(std::int64_t from, std::int64_t to) const {
    const std::int64_t straight = up_[static_cast<std::size_t>(to)] - up_[static_cast<std::size_t>(from)];
    return to < from ? up_.back() + straight : straight;
}

std::int64_t RingPaths::down(std::int64_t from, std::int64_t to) const {
    const std::int64_t straight = down_[static_cast<std::size_t>(from)] - down_[static_cast<std::size_t>(to)];
    return from < to ? down_.back() + straight : straight;
}

std::int64_t RingPaths::trees(const std::vector<std::int64_t>& places, bool inwards) const {
    const std::size_t n = places.size();
    std::int64_t sum = 0;
    for (std::size_t root = 0; root < n; ++root) {
        const std::int64_t at = places[root];
        std::int64_t least = -1;
        for (std::size_t above = 0; above < n; ++above) {
            const std::int64_t top = places[(root + above) % n];
            const std::int64_t bottom = above + 1 < n ? places[(root + above + 1) % n] : at;
            const std::int64_t cost = inwards ? down(top, at) + up(bottom, at) : up(at, top) + down(at, bottom);
            least = least < 0 ? cost : std::min(least, cost);
        }
        sum += least;
    }
    return sum;
}

std::int64_t RingPaths::gathered(const std::vector<std::int64_t>& places) const { return trees(places, false); }
std::int64_t RingPaths::scattered(const std::vector<std::int64_t>& places) const { return trees(places, true); }

std::int64_t RingPaths::exchanged(const std::vector<std::int64_t>& places) const {
    std::int64_t sum = 0;
    for (const std::int64_t from : places) {
        for (const std::int64_t to : places) sum += std::min(up(from, to), down(from, to));
    }
    return sum;
}

}  // namespace roofline::core
