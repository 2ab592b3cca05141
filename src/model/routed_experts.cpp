#include "model/routed_experts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algebra/rational.hpp"

namespace roofline::core {

namespace {

void collect(const Block& block, std::vector<RoutedExperts>& found) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            collect(*inner, found);
            continue;
        }
        for (const Op& op : std::get<Statement>(node).ops) {
            if (op.kind != OpKind::apply || op.function != "dispatch") continue;
            const bool known = std::any_of(found.begin(), found.end(), [&](const RoutedExperts& each) {
                return each.experts == op.along[0] && each.rows == op.along[1];
            });
            if (known) continue;
            RoutedExperts routed{op.along[0], op.along[1], {}, {}};
            for (const std::string& dim : op.inputs[1].dims) {
                (has(op.inputs[0].dims, dim) ? routed.tokens : routed.choices).push_back(dim);
            }
            found.push_back(std::move(routed));
        }
    }
}

}  // namespace

std::vector<RoutedExperts> routed_experts(const Program& program) {
    std::vector<RoutedExperts> found;
    collect(program.body, found);
    return found;
}

Status limit_to_groups(Program& program, ExpertGroups groups) {
    const auto wrong = [&](std::string why) {
        return fail(
            "bad_expert_groups", fmt::format("{} of {} groups of experts: {}", groups.chosen, groups.of, why),
            "groups must be equal, and the groups that a token chooses must have enough experts for its choices");
    };
    if (groups.chosen < 1 || groups.of < groups.chosen)
        return wrong("a token chooses at least one and at most all of them");
    const std::vector<RoutedExperts> routed = routed_experts(program);
    if (routed.empty()) return wrong("no tokens choose experts (`dispatch`) in this program");
    for (const RoutedExperts& each : routed) {
        if (!program.sizes.contains(each.experts)) continue;
        const std::int64_t experts = product_of({each.experts}, program.sizes);
        const std::int64_t choices = product_of(each.choices, program.sizes);
        if (experts % groups.of != 0) return wrong(fmt::format("{} experts cannot be divided equally", experts));
        const std::int64_t left = experts / groups.of * groups.chosen;
        if (left < choices) return wrong(fmt::format("only {} experts remain for {} choices", left, choices));
    }
    program.expert_groups = groups;
    return {};
}

std::int64_t product_of(const std::vector<std::string>& dims, const Sizes& sizes) {
    constexpr Int128 most = Int128{1} << 50;
    Int128 product = 1;
    for (const std::string& dim : dims) {
        const auto size = sizes.find(dim);
        if (size != sizes.end()) product = std::min(product * size->second, most);
    }
    return static_cast<std::int64_t>(product);
}

void bind_fewest_experts(const Program& program, Sizes& sizes) {
    for (const RoutedExperts& each : routed_experts(program)) {
        const auto experts = sizes.find(each.experts);
        if (experts == sizes.end()) continue;
        const std::int64_t fewest = std::min(experts->second, product_of(each.choices, sizes));
        sizes[each.rows] = product_of(each.tokens, sizes);
        experts->second = fewest;
    }
}

}  // namespace roofline::core
