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

CompiledTimes::CompiledTimes(const Pricing& pricing, const std::vector<std::string>& swept, const Sizes& fixed)
    : resources_(pricing.resources.size()) {
    std::vector<WeightedSum> sums;
    for (const Resource& resource : pricing.resources) {
        WeightedSum& sum = sums.emplace_back();
        for (const Term& term : resource.terms) {
            if (term.latency_s == 0) sum.emplace_back(term.work, 1 / term.rate.value);
        }
    }
    for (std::size_t i = 0; i < resources_; ++i) {
        for (const Term& term : pricing.resources[i].terms) {
            if (term.latency_s == 0) continue;
            sums.push_back({{term.work, 1 / term.rate.value}});
            sums.push_back({{term.count, term.latency_s}});
            late_.push_back(i);
        }
    }
    sums_ = CompiledSums(sums, swept, fixed);
}

Bounds CompiledTimes::evaluate(std::span<const double> sizes, std::span<double> seconds) const {
    sums_.evaluate(sizes, seconds.first(sums_.size()));
    double hidden = 0;
    for (std::size_t i = 0; i < late_.size(); ++i) {
        const double transfer = seconds[resources_ + 2 * i];
        const double latency = seconds[resources_ + 2 * i + 1];
        seconds[late_[i]] += std::max(transfer, latency);
        hidden += std::min(transfer, latency);
    }
    Bounds bounds = bounds_of(seconds.first(resources_));
    bounds.upper += hidden;
    return bounds;
}

}  // namespace roofline
