#include "network/slice_shapes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace roofline::core {

namespace {

constexpr std::int64_t most_chips = 1'000'000;

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

std::size_t torus_axes(const NetworkTier& tier) {
    if (!tier.pod_shape.empty()) return tier.pod_shape.size();
    return tier.topology == "torus3d" ? 3 : 2;
}

std::vector<std::int64_t> divisors_of(std::int64_t number) {
    std::vector<std::int64_t> small;
    std::vector<std::int64_t> large;
    for (std::int64_t divisor = 1; divisor <= number / divisor; ++divisor) {
        if (number % divisor != 0) continue;
        small.push_back(divisor);
        if (divisor != number / divisor) large.push_back(number / divisor);
    }
    small.insert(small.end(), large.rbegin(), large.rend());
    return small;
}

std::optional<Slice> even_torus(const Machine& machine, const NetworkTier& tier, std::int64_t chips) {
    std::int64_t pod = tier.pod_shape.empty() ? chips : 1;
    for (const std::int64_t axis : tier.pod_shape) pod *= axis;
    for (const std::int64_t tori : divisors_of(chips)) {
        constexpr std::int64_t smallest_part = 4;  // of a pod: no one wires thirteen single chips
        if (tori > 1 && chips / tori < pod / smallest_part) break;
        for (const std::vector<std::int64_t>& each : even_shapes(chips / tori, torus_axes(tier))) {
            const std::string shape = fmt::format("{}", fmt::join(each, "x"));
            auto slice = make_slice(machine, tori == 1 ? shape : fmt::format("{}*{}", shape, tori));
            if (slice) return std::move(*slice);
        }
    }
    return std::nullopt;
}

std::optional<Slice> even_slice(const Machine& machine, std::int64_t chips) {
    const auto tier = std::find_if(machine.network.begin(), machine.network.end(), joins_chips);
    if (chips > 1 && tier == machine.network.end()) return std::nullopt;
    if (chips > 1 && has_axes(*tier)) return even_torus(machine, *tier, chips);
    const std::int64_t domain = chips == 1 ? 1 : tier->topology == "pair" ? 2 : tier->domain > 0 ? tier->domain : chips;
    if (chips > domain && chips % domain != 0) return std::nullopt;
    auto slice =
        make_slice(machine, chips <= domain ? fmt::format("{}", chips) : fmt::format("{}x{}", domain, chips / domain));
    if (!slice) return std::nullopt;
    return std::move(*slice);
}

// "64 or 96 chips": the nearest numbers below and above that can be wired.
std::string nearest_chips(const Machine& machine, std::int64_t chips) {
    constexpr std::int64_t farthest = 256;
    std::string text;
    for (const std::int64_t step : {-1, 1}) {
        for (std::int64_t away = 1; away <= farthest && chips + step * away > 0; ++away) {
            if (!even_slice(machine, chips + step * away)) continue;
            text += fmt::format("{}{}", text.empty() ? "" : " or ", chips + step * away);
            break;
        }
    }
    return text.empty() ? "name the slice: --on tpu-v5p:4x4x8, --on h100-sxm:8x16" : fmt::format("use {} chips", text);
}

}  // namespace

std::vector<std::vector<std::int64_t>> even_shapes(std::int64_t chips, std::size_t axes) {
    if (axes == 1) return {{chips}};
    std::vector<std::vector<std::int64_t>> shapes;
    for (const std::int64_t a : divisors_of(chips)) {
        const std::int64_t rest = chips / a;
        if (axes == 2) {
            if (a <= rest) shapes.push_back({a, rest});
            continue;
        }
        for (const std::int64_t b : divisors_of(rest)) {
            if (a <= b && b <= rest / b) shapes.push_back({a, b, rest / b});
        }
    }
    std::sort(shapes.begin(), shapes.end(),
              [](const auto& x, const auto& y) { return x.back() != y.back() ? x.back() < y.back() : x < y; });
    return shapes;
}

Result<Slice> slice_of_chips(const Machine& machine, std::int64_t chips) {
    if (chips < 1 || chips > most_chips) {
        return fail("bad_slice", fmt::format("{} chips are no slice that is sold: at most {}", chips, most_chips),
                    "give fewer chips");
    }
    if (auto slice = even_slice(machine, chips)) return std::move(*slice);
    return fail("bad_slice", fmt::format("{} chips of {} cannot be wired into a slice", chips, machine.name),
                nearest_chips(machine, chips));
}

std::optional<Slice> next_slice(const Machine& machine, std::int64_t chips) {
    for (std::int64_t number = chips; number <= std::min(2 * chips, most_chips); ++number) {
        if (auto slice = even_slice(machine, number)) return slice;
    }
    return std::nullopt;
}

std::vector<Slice> slice_shapes(const Machine& machine) {
    std::vector<Candidate> candidates{{1, 1, "1"}};
    const auto tier = std::find_if(machine.network.begin(), machine.network.end(), joins_chips);
    if (tier != machine.network.end()) {
        if (has_axes(*tier)) {
            torus_shapes(torus_axes(*tier), candidates);
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
