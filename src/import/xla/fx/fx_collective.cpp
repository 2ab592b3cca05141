// Functional collectives of torch.distributed.
#include <fmt/format.h>

#include <algorithm>

#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

constexpr std::int64_t most_devices = 1'000'000;

// The groups of all devices: those of this device's group at the same distances. Nothing if its ranks do not lie at
// one distance from each other, or the groups do not fill the devices.
std::optional<std::string> groups_like(const std::vector<std::int64_t>& ranks, std::int64_t devices) {
    const auto count = static_cast<std::int64_t>(ranks.size());
    if (count < 1) return std::nullopt;
    const std::int64_t stride = count > 1 ? ranks[1] - ranks[0] : 1;
    for (std::size_t i = 1; i < ranks.size(); ++i) {
        if (ranks[i] - ranks[i - 1] != stride) return std::nullopt;
    }
    if (stride < 1 || stride > most_devices || devices > most_devices || devices % (stride * count) != 0) return {};
    // The devices as an array whose middle dimension is that of a group.
    return fmt::format("[{},{}]<=[{},{},{}]T(0,2,1)", devices / count, count, devices / stride / count, count, stride);
}

std::optional<std::string> groups_of(const FxCall& call) {
    std::optional<std::int64_t> size;
    for (const FxValue& each : call.args) {
        if (each.is(FxValue::Kind::number) && each.number >= 1 && each.number <= static_cast<double>(most_devices)) {
            size = static_cast<std::int64_t>(each.number);
        }
        if (!each.is(FxValue::Kind::text)) continue;
        const auto known = call.graph.groups.find(each.text);
        if (known == call.graph.groups.end()) continue;
        const auto last = std::max_element(known->second.begin(), known->second.end());
        const std::int64_t least = last == known->second.end() ? 1 : *last + 1;
        return groups_like(known->second, std::max(call.graph.devices, least));
    }
    // Of a broadcast the number is the device that sends.
    if (!size || call.op == "broadcast") return std::nullopt;
    std::vector<std::int64_t> ranks;
    for (std::int64_t i = 0; i < *size; ++i) ranks.push_back(i);
    return groups_like(ranks, std::max(call.graph.devices, *size));
}

std::string_view opcode_of(std::string_view op) {
    if (op.starts_with("all_gather")) return "all-gather";
    if (op.starts_with("reduce_scatter")) return "reduce-scatter";
    if (op.starts_with("all_to_all")) return "all-to-all";
    return op.starts_with("broadcast") ? "collective-broadcast" : "all-reduce";
}

std::optional<FxValue> collective_rule(FxCall& call) {
    const FxValue* inputs = call.arg(0, "input");
    if (inputs == nullptr) return std::nullopt;
    std::vector<XlaAttribute> attributes;
    if (const auto groups = groups_of(call)) attributes.push_back({"replica_groups", call.to.keep(*groups)});
    const std::vector<FxValue> single{*inputs};
    const bool list = inputs->is(FxValue::Kind::list);
    std::vector<FxValue> results;
    for (const FxValue& each : list ? inputs->items : single) {
        const XlaShape* shape = call.result(results.size());
        if (!each.is(FxValue::Kind::array) || shape == nullptr) return std::nullopt;
        results.push_back(FxValue::of(call.to.add(opcode_of(call.op), *shape, {each.instruction}, attributes)));
    }
    return list ? FxValue::of_list(std::move(results)) : results.front();
}

std::optional<FxValue> wait_rule(FxCall& call) {
    const auto array = call.array(0, "tensor");
    return array ? std::optional(FxValue::of(*array)) : std::nullopt;
}

constexpr FxOperation collective_rules[] = {{"all_gather_into_tensor", collective_rule},
                                            {"all_gather_into_tensor_coalesced", collective_rule},
                                            {"all_reduce", collective_rule},
                                            {"all_reduce_coalesced", collective_rule},
                                            {"all_to_all_single", collective_rule},
                                            {"broadcast", collective_rule},
                                            {"reduce_scatter_tensor", collective_rule},
                                            {"reduce_scatter_tensor_coalesced", collective_rule},
                                            {"wait_tensor", wait_rule}};

}  // namespace

FxRule fx_collective_rule(std::string_view op) { return find_in(collective_rules, op); }

}  // namespace roofline::core
