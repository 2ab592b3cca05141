#include "bound/compute_bound_size.hpp"

#include <algorithm>
#include <optional>

namespace roofline::core {

namespace {

using State = Crossing::State;

// Which of two levels is harder to exceed: one that compute time never exceeds, then a crossing at the more demanding
// size.
bool harder(const CriticalSize& a, const CriticalSize& b) {
    const auto rank = [](const Crossing& crossing) {
        return crossing.state == State::never ? 2 : crossing.state == State::crossing ? 1 : 0;
    };
    const int of_a = rank(*a.crossing);
    const int of_b = rank(*b.crossing);
    if (of_a != of_b || of_a != 1) return of_a > of_b;
    return a.crossing->above ? *a.crossing->root > *b.crossing->root : *a.crossing->root < *b.crossing->root;
}

std::optional<double> limit_of_all(const std::vector<const CriticalSize*>& levels) {
    std::optional<double> limit;
    for (const CriticalSize* level : levels) {
        if (!level->limit && level->crossing && level->crossing->state == State::always) continue;
        if (!level->limit) return std::nullopt;
        limit = std::max(limit.value_or(0), *level->limit);
    }
    return limit;
}

std::optional<CriticalSize> of_all(const std::vector<const CriticalSize*>& levels) {
    CriticalSize result = *levels.front();
    bool above = false;
    bool below = false;
    for (const CriticalSize* level : levels) {
        if (!level->crossing) {
            result.crossing.reset();
            break;
        }
        if (level->crossing->state == State::crossing) (level->crossing->above ? above : below) = true;
        if (harder(*level, result)) result = *level;
    }
    if (above && below && result.crossing && result.crossing->state != State::never) return std::nullopt;
    result.limit = limit_of_all(levels);
    return result;
}

}  // namespace

std::vector<CriticalSize> compute_bound_sizes(const std::vector<CriticalSize>& sizes) {
    std::vector<std::string> dims;
    for (const CriticalSize& size : sizes) {
        if (std::find(dims.begin(), dims.end(), size.dim) == dims.end()) dims.push_back(size.dim);
    }
    std::vector<CriticalSize> results;
    for (const std::string& dim : dims) {
        std::vector<const CriticalSize*> levels;
        for (const CriticalSize& size : sizes) {
            if (size.dim == dim) levels.push_back(&size);
        }
        if (auto result = of_all(levels)) results.push_back(std::move(*result));
    }
    return results;
}

}  // namespace roofline::core
