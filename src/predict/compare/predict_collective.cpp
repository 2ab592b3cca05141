#include "predict/compare/predict_collective.hpp"

#include <algorithm>

#include "bound/network_pricing.hpp"

namespace roofline::core {

PredictedTime predict(const MeasuredCollective& row, const MeasuredGroup& group, Calibrations& calibrations) {
    PredictedTime prediction;
    // MeasuredSystems only returns groups with known rates
    if (const auto time = time_of(group.load, group.on->system, row.bytes)) prediction.lower_s = time->lower_s;
    auto request = request_for(group.load, group.on->system, row.bytes);
    if (!request) return prediction;
    request->system = group.on->id;
    request->software = row.software;
    request->variant = row.variant();
    request->dtype = row.dtype;
    if (const auto expected = calibrations.expected(*request)) {
        prediction.expected_s = std::max(expected->seconds, prediction.lower_s);
        prediction.expected_error = expected->error;
    }
    return prediction;
}

std::optional<CollectiveSample> sample_of(const MeasuredCollective& row, const MeasuredGroup& group) {
    const auto request = request_for(group.load, group.on->system, row.bytes);
    const auto time = time_of(group.load, group.on->system, row.bytes);
    if (!request || !time) return std::nullopt;
    CollectiveSample sample;
    sample.machine = request->machine;
    sample.key = {group.on->id, request->tiers, row.kind, row.software, row.variant(), dtypes_of(row.kind, row.dtype)};
    sample.link = request->link;
    sample.timed = {request->point, row.time_s};
    sample.lower_s = time->lower_s;
    sample.source = row.source;
    return sample;
}

}  // namespace roofline::core
