#include "app/local/verify_peaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/local/run_points.hpp"
#include "base/portable_math.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

constexpr double near_enough = 0.9;
// Tolerance for the p95 of a few samples of a matmul relative to the p95 of many samples of another kernel.
constexpr double exceeds = 1.01;
// Fraction of the peak that the register loop reaches again if the machine is undisturbed.
constexpr double steady = 0.93;
// Duration of the samples of the peak.
constexpr double sample_s = 0.005;

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

/// Runs one matmul of that size and adds its notes.
Result<RunPoint> matmul_at(const Peak& peak, std::int64_t size, Device& device, Effort effort,
                           std::vector<std::string>& notes) {
    RunRequest request;
    request.op.program = fmt::format("{0}[B, D] * {0}[D, F] -> {1}[B, F]", name(peak.dtype), name(peak.accumulator));
    request.op.dims = {fmt::format("B={0},D={0},F={0}", size)};
    request.effort = effort;
    const std::vector<std::string> before = device.notes();  // notes about other dtypes: a device keeps them
    Progress silent;
    ROOFLINE_TRY(auto answer, run_points(request, device, silent));
    for (const std::string& note : answer.notes) {
        if (std::find(before.begin(), before.end(), note) == before.end()) notes.push_back(note);
    }
    RunPoint& point = answer.points.front();
    if (!point.right()) {
        return fail("check_failed",
                    fmt::format("a matmul in {} gave a wrong result ({})", name(peak.dtype), point.worst),
                    "if the result is wrong again, the kernels or the processor are defective");
    }
    return std::move(point);
}

// A matmul that takes as long as a sample of the peak has the same chance of being undisturbed; a larger one amortises
// its startup cost better.
Result<PeakVerification> verify(const Peak& peak, Device& device, Effort effort, const RegisterRate& register_rate) {
    PeakVerification result;
    result.dtype = peak.dtype;
    const double roof = peak.rate.value->value;
    PeakComparison matmul;
    for (const std::int64_t times : {1, 2}) {
        const std::int64_t size = times * size_of_sample(roof);
        ROOFLINE_TRY(auto point, matmul_at(peak, size, device, effort, matmul.notes));
        const double reached = point.hot.p5 > 0 ? point.flops / point.hot.p5 : 0;
        if (reached > result.flops_per_s) {
            result.flops_per_s = reached;
            result.size = size;
            matmul.disturbed = point.hot.disturbed;
        }
        matmul.fraction = result.flops_per_s / roof;
        if (matmul.fraction >= near_enough || effort == Effort::quick) break;
    }
    if (matmul.fraction < near_enough && register_rate) {
        ROOFLINE_TRY(auto now, register_rate(peak.dtype));
        matmul.registers = now / roof;
    }
    result.fraction = matmul.fraction;
    result.verdict = verdict_of(matmul);
    result.verified = result.verdict == "verified";
    return result;
}

}  // namespace

void downgrade_unverified(Machine& machine, const std::vector<PeakVerification>& verified) {
    for (Peak& peak : machine.peaks) {
        if (!peak.rate.value || peak.rate.confidence != 'A') continue;
        const bool held = std::any_of(verified.begin(), verified.end(), [&](const PeakVerification& each) {
            return each.verified && each.dtype == peak.dtype &&
                   each.flops_per_s >= near_enough * peak.rate.value->value;
        });
        if (!held) peak.rate.confidence = 'B';
    }
}

std::int64_t size_of_sample(double flops_per_s) {
    const double side = cube_root(flops_per_s * sample_s / 2);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::lround(side / 256)) * 256, 256, 16384);
}

std::string verdict_of(const PeakComparison& matmul) {
    if (matmul.fraction > exceeds)
        return "the peak is too low: it was measured while the machine was busy, or the clock was lower";
    if (matmul.fraction >= near_enough) return "verified";
    if (matmul.registers > 0 && matmul.registers < steady) {
        return fmt::format(
            "not verified: right afterwards the cores reached only {} % of the peak with register operations alone; "
            "other work runs on the same cores, or the clock is lower",
            percent_text(matmul.registers));
    }
    if (matmul.disturbed) return "not verified: other work disturbed the matmul";
    const auto note =
        std::find_if(matmul.notes.begin(), matmul.notes.end(), [](const std::string& each) { return !each.empty(); });
    const std::string kernels =
        note == matmul.notes.end() ? "the available kernels do not reach more" : "its kernel reaches no more: " + *note;
    return "not verified: " + kernels;
}

Result<std::vector<PeakVerification>> verify_peaks(Machine& machine, Device& device, Effort effort, Progress& progress,
                                                   const RegisterRate& register_rate) {
    std::vector<PeakVerification> results;
    for (Peak& peak : machine.peaks) {
        if (peak.unit != Unit::matmul || !peak.rate.value || !runs_here(peak.dtype)) continue;
        progress.at(fmt::format("matmul in {}", name(peak.dtype)), 0);
        auto result = verify(peak, device, effort, register_rate);
        if (!result) {
            // A dtype that the kernels do not support says nothing about the peak.
            if (result.error().code == "interrupted" || result.error().code == "check_failed")
                return fail(result.error());
            continue;
        }
        peak.rate.note += fmt::format("; a matmul of size {} in {} reaches {} % of it: {}", result->size, device.name(),
                                      percent_text(result->fraction), result->verdict);
        results.push_back(std::move(*result));
    }
    return results;
}

}  // namespace roofline::core
