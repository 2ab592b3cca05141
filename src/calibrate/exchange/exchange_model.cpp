#include "calibrate/exchange/exchange_model.hpp"

#include <algorithm>
#include <cmath>

namespace roofline::core {

namespace {

double inverse(double value) { return value > 0 ? 1 / value : 0; }

}  // namespace

std::string_view exchange_name(ExchangeStep step) { return step == ExchangeStep::dispatch ? "dispatch" : "combine"; }

ExchangePoint exchange_point(const RoutedTokens& tokens, const ExchangeLinks& wires) {
    ExchangePoint point;
    point.members = wires.members;
    point.experts = tokens.experts;
    point.tokens = tokens.tokens;
    point.row_s = tokens.row_bytes / wires.link_rate;
    point.by_choice = routed_rows(tokens, wires, false);
    point.by_chip = routed_rows(tokens, wires, true);
    point.chip_cores = wires.chip_cores;
    return point;
}

// The low-latency kernels of DeepEP (csrc/kernels/internode_ll.cu) assign to each thread block the smallest number of
// experts with which the number of blocks does not exceed the number of cores.
double cores_of(const ExchangeModel& model, const ExchangePoint& point) {
    if (point.cores > 0) return point.cores;
    if (model.cores > 0) return model.cores;
    const double each = std::ceil(point.experts / std::max(1.0, point.chip_cores));
    return std::max(1.0, std::ceil(point.experts / std::max(1.0, each)));
}

ExchangeConstants exchange_features(const ExchangeModel& model, const ExchangePoint& point) {
    const RoutedRows& routed = model.once ? point.by_chip : point.by_choice;
    const double cores = cores_of(model, point);
    return {1,
            point.experts,
            point.row_s,
            routed.wire_s,
            routed.wire_s / cores,
            routed.rows / cores,
            point.tokens * point.row_s / cores};
}

ExchangeConstants constants_of(const ExchangeModel& model) {
    return {model.base_s,        model.expert_s, inverse(model.row), inverse(model.link),
            inverse(model.core), model.copy_s,   inverse(model.read)};
}

void set_constants(ExchangeModel& model, const ExchangeConstants& constants) {
    model.base_s = constants[0];
    model.expert_s = constants[1];
    model.row = inverse(constants[2]);
    model.link = inverse(constants[3]);
    model.core = inverse(constants[4]);
    model.copy_s = constants[5];
    model.read = inverse(constants[6]);
}

double seconds_of(const ExchangeModel& model, const ExchangePoint& point) {
    return dot(constants_of(model), exchange_features(model, point));
}

}  // namespace roofline::core
