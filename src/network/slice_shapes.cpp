#include "network/slice_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace roofline::core {

namespace {

struct Candidate {
    std::int64_t chips = 1;
    std::int64_t longest = 1;
    std::string shape;
};

void torus_shapes(std::size_t axes, std::vector<Candidate>& candidates) {
    for (std::int64_t a = 1; a <= max_slice_chips; a *= 2) {
        for (std::int64_t b = a; a * b <= max_slice_chips; b *= 2) {
            if (axes < 3) {
                candidates.push_back({a * b, b, fmt::format("{}x{}", a, b)});
                continue;
            }
            for (std::int64_t c = b; a * b * c <= max_slice_chips; c *= 2) {
                candidates.push_back({a * b * c, c, fmt::format("{}x{}x{}", a, b, c)});
            }
        }
    }
}

void domain_shapes(const NetworkTier& tier, std::vector<Candidate>& candidates) {
    const std::int64_t domain = tier.topology == "pair" ? 2 : tier.domain > 0 ? tier.domain : 1;
    for (std::int64_t members = 1; members < domain; members *= 2) {
        candidates.push_back({members, members, fmt::format("{}", members)});
    }
    for (std::int64_t domains = 1; domains * domain <= max_slice_chips; domains *= 2) {
        candidates.push_back({domains * domain, domains,
                              domains == 1 ? fmt::format("{}", domain) : fmt::format("{}x{}", domain, domains)});
    }
}

}  // namespace

std::vector<Slice> slice_shapes(const Machine& machine) {
    std::vector<Candidate> candidates{{1, 1, "1"}};
    const auto tier = std::find_if(machine.network.begin(), machine.network.end(), joins_chips);
    if (tier != machine.network.end()) {
        if (has_axes(*tier)) {
            const std::size_t axes = !tier->pod_shape.empty()      ? tier->pod_shape.size()
                                     : tier->topology == "torus3d" ? 3
                                                                   : 2;
            torus_shapes(axes, candidates);
        } else {
            domain_shapes(*tier, candidates);
        }
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        return a.chips != b.chips       ? a.chips < b.chips
               : a.longest != b.longest ? a.longest < b.longest
                                        : a.shape < b.shape;
    });
    std::vector<Slice> slices;
    for (const Candidate& candidate : candidates) {
        if (!slices.empty() && slices.back().chips() == candidate.chips) continue;
        auto slice = make_slice(machine, candidate.shape);
        if (slice) slices.push_back(std::move(*slice));
    }
    return slices;
}

}  // namespace roofline::core
