#include "predict/compare/predict_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "bound/network_pricing.hpp"

namespace roofline::core {

namespace {

RoutedTokens tokens_of(const MeasuredExchange& row) {
    const DtypeInfo& dtype = info(row.dtype);
    RoutedTokens tokens;
    tokens.tokens = static_cast<double>(row.tokens);
    tokens.choices = static_cast<double>(row.choices);
    tokens.experts = static_cast<double>(row.experts);
    tokens.row_bytes = static_cast<double>(row.hidden) * static_cast<double>(dtype.bits) / 8;
    return tokens;
}

/// One copy of every token of all members: the bytes that are certain to cross the network (Message::sure).
double sure_bytes(const MeasuredExchange& row, const MeasuredGroup& group) {
    const RoutedTokens tokens = tokens_of(row);
    return tokens.tokens * tokens.row_bytes * static_cast<double>(group.load.members);
}

std::optional<ExchangeRequest> request_of(const MeasuredExchange& row, const MeasuredGroup& group) {
    const System& system = group.on->system;
    const auto wires = exchange_links(group.load, {&system.mesh.front()}, system.slice);
    const auto collective = request_for(group.load, system, sure_bytes(row, group));
    if (!wires || !collective) return std::nullopt;
    ExchangeRequest request;
    request.key = {group.on->id, collective->tiers, row.back ? ExchangeStep::combine : ExchangeStep::dispatch,
                   row.software, row.variant,       group.load.members};
    request.link = collective->link;
    request.point = exchange_point(tokens_of(row), *wires);
    request.point.cores = static_cast<double>(row.cores);
    return request;
}

}  // namespace

Result<MeasuredGroup> group_of(const MeasuredExchange& row, MeasuredSystems& systems) {
    MeasuredCollective all;
    all.system = row.system;
    all.kind = CollectiveKind::all_to_all;
    all.nodes = row.nodes;
    all.members = row.members > 0 ? row.members : row.nodes * systems.chips_of_node(row.system);
    if (all.members == 0) {
        return fail("missing",
                    fmt::format("the row does not give the number of chips, and the number per node of {} is unknown",
                                in_ticks(row.system)),
                    "add a column ep_size");
    }
    if (all.members == 1) return fail("one_chip", "one chip has all experts: nothing is exchanged");
    return systems.group(all);
}

Comparison compare(const MeasuredExchange& row, const MeasuredGroup& group, Calibrations& calibrations) {
    Comparison comparison;
    comparison.line = row.line;
    comparison.system = group.on->id;
    comparison.slice = group.on->slice();
    comparison.operation = row.back ? "combine" : "dispatch";
    comparison.shape = fmt::format("{} tokens of {}, {} of {} experts{}", row.tokens, row.hidden, row.choices,
                                   row.experts, row.cores > 0 ? fmt::format(", {} cores", row.cores) : "");
    comparison.devices = group.load.members;
    comparison.bytes = sure_bytes(row, group) / static_cast<double>(group.load.members);
    comparison.dtype = name(row.dtype);
    comparison.software = row.software;
    comparison.variant = row.variant;
    comparison.measured_s = row.time_s;
    PredictedTime& prediction = comparison.prediction;
    if (const auto time = time_of(group.load, group.on->system, sure_bytes(row, group)))
        prediction.lower_s = time->lower_s;
    const auto request = request_of(row, group);
    if (!request) return comparison;
    if (const auto expected = calibrations.expected_exchange(group.on->system.machine(), *request)) {
        prediction.expected_s = std::max(expected->seconds, prediction.lower_s);
        prediction.expected_error = expected->error;
    }
    return comparison;
}

std::optional<ExchangeSample> sample_of(const MeasuredExchange& row, const MeasuredGroup& group) {
    const auto request = request_of(row, group);
    const auto time = time_of(group.load, group.on->system, sure_bytes(row, group));
    if (!request || !time) return std::nullopt;
    ExchangeSample sample;
    sample.machine = group.on->system.machine().id;
    sample.key = request->key;
    sample.link = request->link;
    sample.point = request->point;
    sample.choices = static_cast<double>(row.choices);
    sample.time_s = row.time_s;
    sample.lower_s = time->lower_s;
    sample.source = row.source;
    return sample;
}

}  // namespace roofline::core
