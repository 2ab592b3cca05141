#include "calibrate/routed_rows.hpp"

#include <algorithm>

#include "bound/network_pricing.hpp"
#include "program/functions.hpp"

namespace roofline {

namespace {

/// Members of the group that lie along a tier of the slice.
double members_of_tier(const std::vector<const PlacedAxis*>& axes, std::size_t tier) {
    double members = 1;
    for (const PlacedAxis* axis : axes) {
        for (const Lane& lane : axis->lanes) {
            if (lane.tier == tier) members *= static_cast<double>(lane.size);
        }
    }
    return members;
}

/// The statement that sends the message; null where there is none.
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

/// The dimension that a share of it, "E/8", is one of.
std::string whole_dim(const std::string& dim) { return dim.substr(0, dim.find('/')); }

}  // namespace

// Groups are numbered by the first dimension that the operation works along, their rows by the second.
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
        rows.choices = 1 / message.sure.to_double();
        rows.experts = elements({whole_dim(op.along.front())});
        const BitsPerElement bits = stored_bits(value.type.dtype);
        rows.row_bytes = Polynomial(Rational(bits.numerator, bits.denominator * std::int64_t{8})) * elements(row);
        return rows;
    }
    return std::nullopt;
}

double groups_reached(double experts, double choices, double groups) {
    if (!(groups > 1)) return 1;
    const double each = std::max(1.0, experts / groups);
    const double all = std::max(experts, each * groups);
    double missed = 1;  // that none of the choices falls into one group
    for (double i = 0; i < choices && missed > 0; i += 1) {
        missed *= std::max(0.0, all - each - i) / std::max(1.0, all - i);
    }
    return groups * (1 - missed);
}

std::optional<ExchangeWires> exchange_wires(const CollectiveLoad& load, const std::vector<const PlacedAxis*>& axes,
                                            const Slice& slice) {
    if (load.members < 2 || load.tiers.empty()) return std::nullopt;
    ExchangeWires wires;
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

RoutedTokens routed_tokens(double bytes, double choices, double experts, double row_bytes, const ExchangeWires& wires) {
    const double rows = row_bytes > 0 ? bytes / row_bytes : 0;
    return {rows / (choices * wires.members), choices, experts, row_bytes};
}

RoutedRows routed_rows(const RoutedTokens& tokens, const ExchangeWires& wires, bool once) {
    const double n = wires.members;
    const auto reached = [&](double groups) { return groups_reached(tokens.experts, tokens.choices, groups); };
    RoutedRows routed;
    routed.rows = tokens.tokens * (once ? reached(n) : tokens.choices) * (n - 1) / n;
    const double bytes = tokens.tokens * tokens.choices * tokens.row_bytes * n;
    for (const ExchangeWires::Tier& tier : wires.tiers) {
        // an inner tier also passes on what came to the node for its other chips
        const double share = once ? reached(n / tier.inside) / tokens.choices * (n / tier.through) : 1;
        routed.wire_s = std::max(routed.wire_s, bytes * tier.byte_s * share);
    }
    return routed;
}

}  // namespace roofline
