#include "bound/times.hpp"

#include <algorithm>

namespace roofline {

Bounds bounds_of(std::span<const double> seconds) {
    Bounds bounds;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        bounds.upper += seconds[i];
        if (seconds[i] > bounds.lower) {
            bounds.lower = seconds[i];
            bounds.bound_by = i;
        }
    }
    return bounds;
}

CompiledTimes::CompiledTimes(const Pricing& pricing, const std::vector<std::string>& swept, const Sizes& fixed) {
    std::vector<WeightedSum> sums;
    for (const Resource& resource : pricing.resources) {
        Parts parts;
        parts.cuts = resource.cuts();
        parts.serial = parts.cuts > 1;
        for (std::size_t cut = 0; cut < parts.cuts; ++cut) sums.push_back(resource.time(cut));
        if (parts.serial) sums.push_back(resource.time());
        for (const Term& term : resource.terms) {
            if (term.latency_s == 0) continue;
            sums.push_back({{term.count, term.latency_s}});
            ++parts.latencies;
        }
        resources_.push_back(parts);
    }
    sums_ = CompiledSums(sums, swept, fixed);
}

Bounds CompiledTimes::evaluate(std::span<const double> sizes, std::span<double> seconds) const {
    const std::span<double> sums = seconds.subspan(resources_.size(), sums_.size());
    sums_.evaluate(sizes, sums);
    auto next = sums.begin();
    double in_turn = 0;
    for (std::size_t i = 0; i < resources_.size(); ++i) {
        const Parts& parts = resources_[i];
        const auto cuts = next;
        next += static_cast<std::ptrdiff_t>(parts.cuts);
        double time = *std::max_element(cuts, next);
        in_turn += parts.serial ? *next++ : time;
        for (std::size_t term = 0; term < parts.latencies; ++term) {
            time = std::max(time, *next);
            in_turn += *next++;
        }
        seconds[i] = time;
    }
    Bounds bounds = bounds_of(seconds.first(resources_.size()));
    bounds.upper = in_turn;
    return bounds;
}

}  // namespace roofline
