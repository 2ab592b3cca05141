#include "bound/times.hpp"

#include <algorithm>

namespace roofline::core {

CompiledTimes::CompiledTimes(const Pricing& pricing, const std::vector<std::string>& swept, const Sizes& fixed) {
    std::vector<WeightedSum> sums;
    for (const Resource& resource : pricing.resources) {
        Parts parts;
        parts.cuts = resource.cuts();
        parts.serial = parts.cuts > 1;
        for (std::size_t cut = 0; cut < parts.cuts; ++cut) sums.push_back(resource.time(cut));
        parts.unsure = resource.unsure();
        for (std::size_t cut = 0; parts.unsure && cut < parts.cuts; ++cut) sums.push_back(resource.least_time(cut));
        if (parts.serial) sums.push_back(resource.time());
        for (const Term& term : resource.terms) {
            if (term.latency_s == 0) continue;
            sums.push_back({{term.count, term.latency_s}});
            sums.push_back(term.waits);
            ++parts.latencies;
        }
        resources_.push_back(parts);
    }
    sums_ = CompiledSums(sums, swept, fixed);
}

Bounds CompiledTimes::evaluate(std::span<const double> sizes, std::span<double> seconds) const {
    const std::span<double> sums = seconds.subspan(2 * resources_.size(), sums_.size());
    sums_.evaluate(sizes, sums);
    auto next = sums.begin();
    const auto longest_of = [&next](std::size_t cuts) {
        const auto from = next;
        next += static_cast<std::ptrdiff_t>(cuts);
        return *std::max_element(from, next);
    };
    Bounds bounds;
    for (std::size_t i = 0; i < resources_.size(); ++i) {
        const Parts& parts = resources_[i];
        double time = longest_of(parts.cuts);
        double least = parts.unsure ? longest_of(parts.cuts) : time;
        bounds.upper += parts.serial ? *next++ : time;
        for (std::size_t term = 0; term < parts.latencies; ++term) {
            const double own = *next++;
            const double latency = own + *next++;
            time = std::max(time, latency);
            least = std::max(least, latency);
            bounds.upper += own;
        }
        seconds[i] = time;
        seconds[resources_.size() + i] = least;
        if (least <= bounds.lower) continue;
        bounds.lower = least;
        bounds.bound_by = i;
    }
    return bounds;
}

}  // namespace roofline::core
