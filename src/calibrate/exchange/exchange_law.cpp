#include "calibrate/exchange/exchange_law.hpp"

#include <algorithm>
#include <cmath>

namespace roofline::core {

namespace {

double inverse(double value) { return value > 0 ? 1 / value : 0; }

}  // namespace

std::string_view exchange_name(ExchangeStep step) { return step == ExchangeStep::dispatch ? "dispatch" : "combine"; }

ExchangePoint exchange_point(const RoutedTokens& tokens, const ExchangeWires& wires) {
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
double cores_of(const ExchangeLaw& law, const ExchangePoint& point) {
    if (point.cores > 0) return point.cores;
    if (law.cores > 0) return law.cores;
    const double each = std::ceil(point.experts / std::max(1.0, point.chip_cores));
    return std::max(1.0, std::ceil(point.experts / std::max(1.0, each)));
}

ExchangeConstants exchange_features(const ExchangeLaw& law, const ExchangePoint& point) {
    const RoutedRows& routed = law.once ? point.by_chip : point.by_choice;
    const double cores = cores_of(law, point);
    return {1,
            point.experts,
            point.row_s,
            routed.wire_s,
            routed.wire_s / cores,
            routed.rows / cores,
            point.tokens * point.row_s / cores};
}

ExchangeConstants constants_of(const ExchangeLaw& law) {
    return {law.base_s,        law.expert_s, inverse(law.row), inverse(law.link),
            inverse(law.core), law.copy_s,   inverse(law.read)};
}

void set_constants(ExchangeLaw& law, const ExchangeConstants& constants) {
    law.base_s = constants[0];
    law.expert_s = constants[1];
    law.row = inverse(constants[2]);
    law.link = inverse(constants[3]);
    law.core = inverse(constants[4]);
    law.copy_s = constants[5];
    law.read = inverse(constants[6]);
}

double seconds_of(const ExchangeLaw& law, const ExchangePoint& point) {
    return dot(constants_of(law), exchange_features(law, point));
}

}  // namespace roofline::core
