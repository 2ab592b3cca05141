// How far a search for a plan has come.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace roofline::core {

struct SearchProgress {
    std::int64_t looked_at = 0;  ///< plans, or servers and their set-ups
    std::int64_t plans = 0;      ///< of so many; 0: that is not known beforehand
    /// Least so far of those that fit: seconds of a training step, or seconds of a chip per token that a server emits.
    /// Empty: none fits so far, or the jobs of the search cannot be compared by it.
    std::optional<double> best{};
};

/// Is told how far a search has come, and ends it by returning false. Any thread of the search calls it, but never two
/// at a time.
using SearchWatcher = std::function<bool(const SearchProgress& progress)>;

}  // namespace roofline::core
