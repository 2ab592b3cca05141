#include "predict/compare/predict_collective.hpp"

#include <algorithm>
#include <vector>

#include "bound/network_pricing.hpp"

namespace roofline::core {

namespace {

// Bytes of the arrays of all groups that share the links.
double bytes_on_links(const MeasuredCollective& row, const MeasuredGroup& group) {
    const std::vector<CollectiveKind>& listed = group.on->of_member;
    const bool of_member = std::find(listed.begin(), listed.end(), row.kind) != listed.end();
    return row.bytes * static_cast<double>(group.on->groups_on_links * (of_member ? row.members : 1));
}

const std::string& library_of(const MeasuredCollective& row, const MeasuredGroup& group) {
    return group.on->library.empty() ? row.software : group.on->library;
}

}  // namespace

PredictedTime predict(const MeasuredCollective& row, const MeasuredGroup& group, Calibrations& calibrations) {
    PredictedTime prediction;
    // MeasuredSystems only returns groups with known rates
    const double bytes = bytes_on_links(row, group);
    if (const auto time = time_of(group.load, group.on->system, bytes)) prediction.lower_s = time->lower_s;
    auto request = request_for(group.load, group.on->system, bytes);
    if (!request) return prediction;
    request->system = group.on->id;
    request->software = library_of(row, group);
    request->variant = row.variant();
    request->dtype = row.dtype;
    const auto expected = calibrations.expected(*request);
    // a library's times say nothing about a framework's own kernels
    const bool other_kernels = expected && !expected->software_found && row.algorithm == "custom";
    if (expected && !other_kernels) {
        prediction.expected_s = std::max(expected->seconds, prediction.lower_s);
        prediction.expected_error = expected->error;
    }
    return prediction;
}

std::optional<CollectiveSample> sample_of(const MeasuredCollective& row, const MeasuredGroup& group) {
    const double bytes = bytes_on_links(row, group);
    const auto request = request_for(group.load, group.on->system, bytes);
    const auto time = time_of(group.load, group.on->system, bytes);
    if (!request || !time) return std::nullopt;
    CollectiveSample sample;
    sample.machine = request->machine;
    sample.key = {group.on->id,           request->tiers, row.kind,
                  library_of(row, group), row.variant(),  dtypes_of(row.kind, row.dtype)};
    sample.inner_tiers = request->inner_tiers;
    sample.link = request->link;
    sample.timed = {request->point, row.time_s};
    sample.lower_s = time->lower_s;
    sample.source = row.source;
    return sample;
}

}  // namespace roofline::core
