#include "app/uniform_routing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bound/times.hpp"
#include "calibrate/routed_rows.hpp"

namespace roofline {

namespace {

/// The share of all copies that an exchange sends; empty for other messages.
std::optional<double> share_sent(const OpAnswer& answer, const Message& message) {
    const auto rows = expert_rows(answer.local, message);
    const auto load = load_of(message, answer.system);
    if (!rows || !(rows->choices > 1) || !load) return std::nullopt;
    const auto experts = rows->experts.evaluate(answer.program.sizes);
    const auto wires = exchange_wires(*load, axes_of(message, answer.system), answer.system.slice);
    if (!experts || !wires) return std::nullopt;
    double inside = 1;
    for (const ExchangeWires::Tier& tier : wires->tiers) inside = std::max(inside, tier.inside);
    return groups_reached(experts->to_double(), rows->choices, wires->members / inside) / rows->choices;
}

}  // namespace

Result<std::optional<UniformBound>> uniform_bound(const OpAnswer& answer) {
    if (!answer.analysis.total.seconds) return std::nullopt;
    Work work = answer.analysis.total.work;
    bool routed = false;
    for (MessageWork& each : work.messages) {
        const auto share = share_sent(answer, each.message);
        if (!share) continue;
        routed = true;
        constexpr std::int64_t parts = 1 << 20;  // of a share; rounded down, so that it stays a bound
        const Rational sent(static_cast<std::int64_t>(std::floor(*share * static_cast<double>(parts))), parts);
        if (each.message.sure < sent) each.message.sure = sent;
    }
    if (!routed) return std::nullopt;
    auto pricing = price(work, answer.machine);
    if (!pricing) return fail(pricing.error());
    if (auto status = price_network(*pricing, work, answer.system); !status) return fail(status.error());
    const CompiledTimes times(*pricing, {}, answer.local.sizes);
    std::vector<double> seconds(times.places());
    UniformBound uniform;
    uniform.lower_s = times.evaluate({}, seconds).lower;
    const auto least = seconds.begin() + static_cast<std::ptrdiff_t>(times.resources());
    const auto longest = std::max_element(least, least + static_cast<std::ptrdiff_t>(times.resources()));
    uniform.bound_by = pricing->resources[static_cast<std::size_t>(longest - least)].id;
    return uniform;
}

}  // namespace roofline
