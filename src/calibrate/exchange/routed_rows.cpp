#include "calibrate/exchange/routed_rows.hpp"

#include <algorithm>
#include <cmath>

#include "bound/network_pricing.hpp"
#include "program/functions.hpp"

namespace roofline::core {

namespace {

/// Number of members of the group along a tier of the slice.
double members_of_tier(const std::vector<const PlacedAxis*>& axes, std::size_t tier) {
    double members = 1;
    for (const PlacedAxis* axis : axes) {
        for (const Lane& lane : axis->lanes) {
            if (lane.tier == tier) members *= static_cast<double>(lane.size);
        }
    }
    return members;
}

/// Returns the statement that sends the message; null if there is none.
const Statement* sender_of(const std::vector<Node>& nodes, const Message& message) {
    for (const Node& node : nodes) {
        if (const auto* block = std::get_if<Block>(&node)) {
            if (const Statement* found = sender_of(block->nodes, message)) return found;
            continue;
        }
        const Statement& statement = std::get<Statement>(node);
        const auto& messages = statement.messages;
        if (std::find(messages.begin(), messages.end(), message) != messages.end()) return &statement;
    }
    return nullptr;
}

/// C(all - these, k) / C(all, k): the probability that none of k distinct choices is one of `these`.
double probability_missed(double all, double these, double choices) {
    double none = 1;
    for (double i = 0; i < choices && none > 0; i += 1) {
        none *= std::max(0.0, all - these - i) / std::max(1.0, all - i);
    }
    return none;
}

/// C(n, k) as a number; 0 if k is not in 0..n.
double combinations(double n, double k) {
    if (k < 0 || k > n) return 0;
    double ways = 1;
    for (double i = 0; i < k; i += 1) ways *= (n - i) / (k - i);
    return ways;
}

/// Probability that a token misses the part with the groups `from` to `to`, if it chooses among the experts of some
/// groups only. The first and the last group may lie only partly on the part.
double probability_missed_in_groups(double experts, double choices, ExpertGroups limit, double from, double to) {
    constexpr double near = 1e-9;
    const auto groups = static_cast<double>(limit.of);
    const auto chosen = static_cast<double>(limit.chosen);
    const double whole_from = std::ceil(from - near);
    const double whole_to = std::floor(to + near);
    const bool within = whole_to < whole_from;  // the part lies inside of one group
    const double whole = within ? 0 : whole_to - whole_from;
    const double first = within ? to - from : whole_from - from;
    const double last = within ? 0 : to - whole_to;
    const double edges = (first > near ? 1 : 0) + (last > near ? 1 : 0);
    const double others = groups - whole - edges;
    const double group = experts / groups;
    double none = 0;
    for (const double in_first : {0.0, 1.0}) {
        if (in_first > 0 && !(first > near)) continue;
        for (const double in_last : {0.0, 1.0}) {
            if (in_last > 0 && !(last > near)) continue;
            for (double i = 0; i <= whole; i += 1) {
                const double ways = combinations(whole, i) * combinations(others, chosen - i - in_first - in_last);
                const double here = (i + in_first * first + in_last * last) * group;
                none += ways * probability_missed(chosen * group, here, choices);
            }
        }
    }
    return none / combinations(groups, chosen);
}

}  // namespace

// The first dimension that the operation works along numbers the groups, the second their rows.
std::optional<ExpertRows> expert_rows(const Program& local, const Message& message) {
    if (message.kind != CollectiveKind::all_to_all) return std::nullopt;
    const Statement* statement = sender_of(local.body.nodes, message);
    if (statement == nullptr) return std::nullopt;
    for (const Op& op : statement->ops) {
        if (op.kind != OpKind::apply) continue;
        const FunctionKind kind = find_function(op.function)->kind;
        if (kind != FunctionKind::dispatch && kind != FunctionKind::combine) continue;
        const Operand& groups = kind == FunctionKind::dispatch ? op.output : op.inputs.front();
        const Value& value = local.values[groups.value];
        if (value_name(local, groups.value) != message.tensor || op.along.size() < 2) continue;
        std::vector<std::string> row;
        for (const std::string& dim : groups.dims) {
            if (!has(op.along, dim)) row.push_back(dim);
        }
        ExpertRows rows;
        rows.back = kind == FunctionKind::combine;
        rows.choices = message.copies.to_double();
        rows.experts = Polynomial::dim(local.local_dims.whole(op.along.front()));
        const BitsPerElement bits = stored_bits(value.type.dtype);
        rows.row_bytes =
            Polynomial(Rational(bits.numerator, bits.denominator * std::int64_t{8})) * elements(local.local_dims, row);
        return rows;
    }
    return std::nullopt;
}

double parts_reached(double experts, double choices, double parts, ExpertGroups limit) {
    if (!(parts > 1)) return 1;
    const double each = std::max(1.0, experts / parts);
    const double all = each * parts;
    if (limit.chosen >= limit.of) return parts * (1 - probability_missed(all, each, choices));
    const auto groups = static_cast<double>(limit.of);
    // if parts are unions of groups or groups are unions of parts, all parts are equivalent
    const bool alike = std::fmod(parts, groups) == 0 || std::fmod(groups, parts) == 0;
    const double counted = alike ? 1 : parts;
    double reached = 0;
    for (double part = 0; part < counted; part += 1) {
        reached +=
            1 - probability_missed_in_groups(all, choices, limit, part * groups / parts, (part + 1) * groups / parts);
    }
    return reached * parts / counted;
}

std::optional<ExchangeLinks> exchange_links(const CollectiveLoad& load, const std::vector<const PlacedAxis*>& axes,
                                            const Slice& slice) {
    if (load.members < 2 || load.tiers.empty()) return std::nullopt;
    ExchangeLinks wires;
    wires.members = static_cast<double>(load.members);
    wires.chip_cores = static_cast<double>(slice.machine.cores);
    double inside = 1;
    for (const TierLoad& tier : load.tiers) {
        const auto rate = rate_of(slice.network(slice.tiers[tier.tier]));
        if (!rate) return std::nullopt;
        if (wires.tiers.empty()) wires.link_rate = rate->value;
        const double through = inside * members_of_tier(axes, tier.tier);
        wires.tiers.push_back({tier.link_bytes.to_double() / rate->value, inside, through});
        inside = through;
    }
    return wires;
}

std::vector<const PlacedAxis*> axes_of(const Message& message, const System& system) {
    std::vector<const PlacedAxis*> axes;
    for (const std::string& name : message.axes) {
        if (const PlacedAxis* axis = system.axis(name)) axes.push_back(axis);
    }
    return axes;
}

RoutedTokens routed_tokens(double bytes, double choices, double experts, double row_bytes, const ExchangeLinks& wires) {
    const double rows = row_bytes > 0 ? bytes / row_bytes : 0;
    return {rows / (choices * wires.members), choices, experts, row_bytes};
}

RoutedRows routed_rows(const RoutedTokens& tokens, const ExchangeLinks& wires, bool once) {
    const double n = wires.members;
    const auto reached = [&](double parts) { return parts_reached(tokens.experts, tokens.choices, parts); };
    RoutedRows routed;
    routed.rows = tokens.tokens * (once ? reached(n) : tokens.choices) * (n - 1) / n;
    const double bytes = tokens.tokens * tokens.choices * tokens.row_bytes * n;
    for (const ExchangeLinks::Tier& tier : wires.tiers) {
        // an inner tier also forwards what arrives at the node for its other chips
        const double share = once ? reached(n / tier.inside) / tokens.choices * (n / tier.through) : 1;
        routed.wire_s = std::max(routed.wire_s, bytes * tier.s_per_byte * share);
    }
    return routed;
}

}  // namespace roofline::core
