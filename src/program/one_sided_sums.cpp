#include "program/one_sided_sums.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <variant>

namespace roofline::core {

namespace {

struct LoneSum {
    std::string dim;
    std::size_t operand = 0;
};

std::vector<LoneSum> lone_sums(const Op& op) {
    std::vector<LoneSum> found;
    for (const std::string& dim : op.along) {
        std::vector<std::size_t> holders;
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
            if (has(op.inputs[i].dims, dim)) holders.push_back(i);
        }
        if (holders.size() == 1) found.push_back({dim, holders.front()});
    }
    return found;
}

// The other one of two such sums over different operands that may be one dimension: with unknown sizes, or equal ones.
const LoneSum* partner_of(const LoneSum& sum, const std::vector<LoneSum>& sums, const Sizes& sizes) {
    const auto size = sizes.find(sum.dim);
    for (const LoneSum& other : sums) {
        if (other.operand <= sum.operand) continue;
        const auto theirs = sizes.find(other.dim);
        const bool known = size != sizes.end() && theirs != sizes.end();
        if (!known || size->second == theirs->second) return &other;
    }
    return nullptr;
}

std::string warning(const Program& program, const Op& op, const std::vector<LoneSum>& sums) {
    const auto operand = [&](const LoneSum& sum) -> std::string {
        const ValueId id = op.inputs[sum.operand].value;
        return program.values[id].intermediate ? "the inner product" : value_name(program, id);
    };
    std::vector<std::string> alone;
    std::vector<std::string> first;
    std::vector<std::string> meant;
    std::set<std::string> paired;
    for (const LoneSum& sum : sums) {
        const std::string dim = dim_text(program, sum.dim);
        alone.push_back(fmt::format("{}, which only {} has", dim, operand(sum)));
        first.push_back(fmt::format("sum[{}]({})", dim,
                                    program.values[op.inputs[sum.operand].value].intermediate ? "..." : operand(sum)));
        if (paired.contains(sum.dim)) continue;
        if (const LoneSum* other = partner_of(sum, sums, program.sizes)) {
            paired.insert(other->dim);
            meant.push_back(fmt::format("{} and {} are one dimension, as in a matrix product: give them the same name",
                                        dim, dim_text(program, other->dim)));
        } else {
            meant.push_back(fmt::format("the result or another operand has {} as well: add this dimension to it", dim));
        }
    }
    return fmt::format(
        "line {}, column {}: warning: this product sums over {}. As written, every element of one operand multiplies "
        "every "
        "element of the "
        "other, and this is what is counted; {} first would take far less work. Probably {}",
        op.span.line, op.span.column, fmt::join(alone, " and "), fmt::join(first, " and "), fmt::join(meant, "; "));
}

void add_warnings(const Program& program, const Block& block, std::vector<std::string>& warnings) {
    for (const Node& node : block.nodes) {
        if (const auto* inner = std::get_if<Block>(&node)) {
            add_warnings(program, *inner, warnings);
            continue;
        }
        for (const Op& op : std::get<Statement>(node).ops) {
            if (op.kind != OpKind::contract || op.named_sum) continue;
            const std::vector<LoneSum> sums = lone_sums(op);
            if (!sums.empty()) warnings.push_back(warning(program, op, sums));
        }
    }
}

}  // namespace

std::vector<std::string> one_sided_sums(const Program& program) {
    std::vector<std::string> warnings;
    add_warnings(program, program.body, warnings);
    return warnings;
}

}  // namespace roofline::core
