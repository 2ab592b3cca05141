#include "app/local/verify_peaks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/local/run_points.hpp"
#include "units/text.hpp"

namespace roofline {

namespace {

constexpr double near_enough = 0.9;
// p95 of a few samples of one thing over p95 of many of another
constexpr double exceeds = 1.01;

bool runs_here(Dtype dtype) {
    switch (dtype) {
        case Dtype::f64:
        case Dtype::f32:
        case Dtype::bf16:
        case Dtype::f16:
        case Dtype::int8:
            return true;
        default:
            return false;
    }
}

Result<PeakVerification> verify(const Peak& peak, Device& device, Effort effort, Progress& progress) {
    PeakVerification result;
    result.dtype = peak.dtype;
    result.size = effort == Effort::quick ? 1024 : 2048;
    RunRequest request;
    request.op.program = fmt::format("{0}[B, D] * {0}[D, F] -> {1}[B, F]", name(peak.dtype), name(peak.accumulator));
    request.op.dims = {fmt::format("B={0},D={0},F={0}", result.size)};
    request.effort = Effort::quick;
    auto answer = run_points(request, device, progress);
    if (!answer) return fail(answer.error());
    const RunPoint& point = answer->points.front();
    if (!point.right()) {
        return fail("check_failed", fmt::format("a product in {} came out wrong ({})", name(peak.dtype), point.worst),
                    "a result that stays wrong is a defect of the kernels, or of the processor");
    }
    if (point.hot.p5 > 0) result.flops_per_s = point.flops / point.hot.p5;
    result.fraction = result.flops_per_s / peak.rate.value->value;
    result.verdict = verdict_of(result.fraction, point.hot.disturbed, answer->notes);
    result.verified = result.verdict == "verified";
    return result;
}

}  // namespace

std::string verdict_of(double fraction, bool disturbed, const std::vector<std::string>& notes) {
    if (fraction > exceeds)
        return "the roof is too low: it was measured while the machine was busy, or the clock was lower";
    if (fraction >= near_enough) return "verified";
    if (disturbed) return "not verified: the product did not have its cores to itself";
    const auto note = std::find_if(notes.begin(), notes.end(), [](const std::string& each) { return !each.empty(); });
    if (note != notes.end()) return "not verified: " + *note;
    return "not verified: the kernels of the library reach no more";
}

Result<std::vector<PeakVerification>> verify_peaks(Machine& machine, Device& device, Effort effort,
                                                   Progress& progress) {
    std::vector<PeakVerification> results;
    for (Peak& peak : machine.peaks) {
        if (peak.unit != Unit::matmul || !peak.rate.value || !runs_here(peak.dtype)) continue;
        Progress silent;
        progress.at(fmt::format("a real product in {}", name(peak.dtype)), 0);
        auto result = verify(peak, device, effort, silent);
        if (!result) {
            // a dtype that the kernels do not do says nothing of the roof
            if (result.error().code == "interrupted" || result.error().code == "check_failed")
                return fail(result.error());
            continue;
        }
        peak.rate.note += fmt::format("; a product of size {} in {} reaches {} % of it: {}", result->size,
                                      device.name(), percent_text(result->fraction), result->verdict);
        results.push_back(std::move(*result));
    }
    return results;
}

}  // namespace roofline
