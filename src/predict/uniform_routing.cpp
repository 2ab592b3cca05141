#include "predict/uniform_routing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bound/times.hpp"
#include "calibrate/exchange/routed_rows.hpp"

namespace roofline::core {

namespace {

/// Returns the fraction of all copies that an exchange sends; empty for other messages.
std::optional<double> share_sent(const Program& local, const Message& message, const Sizes& sizes,
                                 const System& system) {
    const auto rows = expert_rows(local, message);
    const auto load = load_of(message, system);
    if (!rows || !(rows->choices > 1) || !load) return std::nullopt;
    const auto experts = rows->experts.evaluate(sizes);
    const auto wires = exchange_links(*load, axes_of(message, system), system.slice);
    if (!experts || !wires) return std::nullopt;
    double inside = 1;
    for (const ExchangeLinks::Tier& tier : wires->tiers) inside = std::max(inside, tier.inside);
    const double parts = wires->members / inside;
    return parts_reached(experts->to_double(), rows->choices, parts, local.expert_groups) / rows->choices;
}

/// Sets the routed fraction of the messages of `nodes`, which belong to `local` or to a copy of it.
bool route(std::vector<Node>& nodes, const Program& local, const Sizes& sizes, const System& system) {
    bool routed = false;
    for (Node& node : nodes) {
        if (auto* block = std::get_if<Block>(&node)) {
            routed = route(block->nodes, local, sizes, system) || routed;
            continue;
        }
        for (Message& message : std::get<Statement>(node).messages) {
            const auto share = share_sent(local, message, sizes, system);
            if (!share) continue;
            routed = true;
            // resolution of the fraction, which is rounded down so that it remains a lower bound
            constexpr std::int64_t parts = 1 << 20;
            const Rational sent(static_cast<std::int64_t>(std::floor(*share * static_cast<double>(parts))), parts);
            message.sure = std::max(message.sure, sent);
        }
    }
    return routed;
}

}  // namespace

std::optional<Program> routed_uniformly(const Program& local, const Sizes& sizes, const System& system) {
    std::vector<Node> nodes = local.body.nodes;
    if (!route(nodes, local, sizes, system)) return std::nullopt;
    Program routed = local;
    routed.body.nodes = std::move(nodes);
    return routed;
}

Result<std::optional<RoutingBound>> uniform_bound(const Prediction& answer) {
    if (!answer.analysis.total.seconds) return std::nullopt;
    const auto local = routed_uniformly(*answer.local, answer.program.sizes, answer.system);
    if (!local) return std::nullopt;
    ROOFLINE_TRY(auto analysis, analyse(answer.program, *local, answer.system, {answer.options, false, false}));
    return bound_of(analysis.total.pricing, analysis.total.least_seconds);
}

}  // namespace roofline::core
