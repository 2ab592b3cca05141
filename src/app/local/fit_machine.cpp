#include "app/local/fit_machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/local/partial_progress.hpp"
#include "app/local/run_points.hpp"
#include "calibrate/expected_program.hpp"
#include "calibrate/fit_kernel_laws.hpp"
#include "machine/machine_text.hpp"
#include "units/dtype.hpp"

namespace roofline {

namespace {

/// A program and the sizes that it is timed at.
struct Subject {
    std::string program;
    std::vector<std::string> dims;
    std::string sweep;
};

std::vector<Subject> subjects(Effort effort) {
    std::vector<Subject> all;
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::int8}) {
        const std::string program =
            fmt::format("{0}[B, D] * {0}[D, F] -> {1}[B, F]", name(dtype), name(info(dtype).accumulator));
        all.push_back({program, {"D=2048,F=2048"}, "B=1..512*2"});
        if (effort == Effort::thorough) all.push_back({program, {"D=4096,F=4096"}, "B=1..512*2"});
        all.push_back({program, {"D=256,F=256"}, "B=16..256*4"});
    }
    all.push_back({"A : f32[B, D]\nC : f32[B, D] = gelu(A)", {"D=4096"}, "B=1..4096*4"});
    all.push_back({"A : f32[B, D]\nE : f32[B, D]\nC : f32[B, D] = A + E", {"D=4096"}, "B=1..4096*4"});
    return all;
}

/// What a law is fitted to, and which program that was.
struct Fitted {
    KernelSample sample;
    TimedProgram program;
};

Status time_subject(const Subject& subject, const std::string& toml, Device& device, Progress& progress,
                    std::vector<Fitted>& all) {
    RunRequest request;
    request.op.program = subject.program;
    request.op.machines = {{"this.toml", toml, {}}};
    request.op.dims = subject.dims;
    request.op.sweeps = {subject.sweep};
    request.effort = Effort::quick;
    auto answer = run_points(request, device, progress);
    if (!answer) return fail(answer.error());
    for (const RunPoint& point : answer->points) {
        const OpAnswer& op = *point.answer;
        if (op.runs.size() != 1 || !op.analysis.total.seconds || point.cold.disturbed) continue;
        Fitted fitted;
        fitted.sample.machine = op.machine.id;
        fitted.sample.key = kernel_key(op.local, op.analysis.work.kernels.front());
        fitted.sample.timed = {op.runs.front().point, point.cold.median};
        fitted.sample.source = "roofline measure cpu";
        fitted.program = {answer->title, point.at.front(), point.cold.median, op.analysis.total.bounds.lower, 0};
        all.push_back(std::move(fitted));
    }
    return {};
}

}  // namespace

Result<MachineFit> fit_machine(const std::string& toml, const std::string& date, Device& device, Effort effort,
                               Progress& progress) {
    MachineFit result;
    std::vector<Fitted> all;
    const std::vector<Subject> timed = subjects(effort);
    const auto count = static_cast<double>(timed.size());
    for (std::size_t i = 0; i < timed.size(); ++i) {
        const auto done = static_cast<double>(i);
        PartialProgress part(progress, done / count, (done + 1) / count);
        const Subject& subject = timed[i];
        auto status = time_subject(subject, toml, device, part, all);
        if (status) continue;
        if (status.error().code == "interrupted") return fail(status.error());
        result.notes.push_back(fmt::format("`{}` was not timed: {}", subject.program, status.error().message));
    }
    std::vector<KernelSample> samples;
    for (const Fitted& each : all) samples.push_back(each.sample);
    KernelLawsFit fit = fit_kernel_laws(std::move(samples));
    if (!fit.calibrations.empty()) result.calibration = std::move(fit.calibrations.front());
    result.calibration.fitted = date;
    result.calibration.tool = fmt::format("roofline {}", ROOFLINE_VERSION);
    for (Fitted& each : all) {
        if (const CalibratedKernel* law = choose_kernel(result.calibration, each.sample.key, "")) {
            each.program.expected_s = seconds_of(law->fit.law, each.sample.timed.point);
        }
        result.programs.push_back(std::move(each.program));
    }
    if (fit.too_few > 0) {
        result.notes.push_back(fmt::format("{} timed programs are too few for a law of their own", fit.too_few));
    }
    return result;
}

std::string calibrated_file(Machine machine, Calibration calibration, const std::optional<NamedText>& before) {
    if (before) {
        if (auto old = parse_machine(before->text, before->name); old && machine.network.empty()) {
            machine.network = std::move(old->network);
        }
        if (auto old = parse_machine_calibration(before->text, before->name); old && *old) {
            calibration.laws = std::move((*old)->laws);
        }
    }
    std::string text = machine_text(machine);
    if (!calibration.kernels.empty() || !calibration.laws.empty()) text += machine_calibration_text(calibration);
    return text;
}

}  // namespace roofline
