#include "app/local/fit_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "app/local/partial_progress.hpp"
#include "app/local/run_points.hpp"
#include "calibrate/expected_program.hpp"
#include "calibrate/kernel/fit_kernel_models.hpp"
#include "machine/machine_text.hpp"
#include "units/dtype.hpp"
#include "units/text.hpp"

namespace roofline::core {

namespace {

// A kernel model with a larger mean error is less useful than the bounds.
constexpr double max_error = 0.5;

/// A measurement for a fit, and the program that it belongs to.
struct TimedSample {
    KernelSample sample;
    TimedProgram program;
};

Status time_subject(const FitSubject& subject, const std::string& toml, Device& device, Progress& progress,
                    std::vector<TimedSample>& all, std::size_t& disturbed) {
    RunRequest request;
    request.op.program = subject.program;
    request.op.machines = {{"this.toml", toml, {}}};
    request.op.dims = {subject.dims};
    request.op.sweeps = {subject.sweep};
    request.effort = Effort::quick;
    ROOFLINE_TRY(auto answer, run_points(request, device, progress));
    for (const RunPoint& point : answer.points) {
        const Prediction& op = *point.answer;
        const std::vector<CompiledKernel::Runs> runs = kernel_runs(*op.local, op.analysis, chip_traits(op.machine));
        if (runs.size() != 1) continue;
        if (point.cold.disturbed) {
            ++disturbed;
            continue;
        }
        TimedSample fitted;
        fitted.sample.machine = op.machine.id;
        fitted.sample.key = kernel_key(*op.local, op.analysis.work.kernels.front());
        fitted.sample.timed = {runs.front().point, point.cold.median};
        fitted.sample.source = "roofline measure cpu";
        fitted.program = {fmt::format("{}, {}", answer.title, subject.dims), point.at.front(), point.cold.median,
                          op.analysis.total.bounds.lower, 0};
        all.push_back(std::move(fitted));
    }
    return {};
}

}  // namespace

std::vector<FitSubject> fit_subjects(Effort effort) {
    std::vector<FitSubject> all;
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::int8}) {
        const std::string program =
            fmt::format("{0}[B, D] * {0}[D, F] -> {1}[B, F]", name(dtype), name(info(dtype).accumulator));
        all.push_back({program, "D=2048,F=2048", "B=1..512*2"});
        if (effort == Effort::thorough) all.push_back({program, "D=4096,F=4096", "B=1..512*2"});
        all.push_back({program, "D=256,F=256", "B=16..256*16"});
    }
    // Rows of one length would not separate the time per element from the time per row.
    for (const char* program :
         {"A : f32[B, D]\nC : f32[B, D] = gelu(A)", "A : f32[B, D]\nE : f32[B, D]\nC : f32[B, D] = A + E"}) {
        all.push_back({program, "D=4096", "B=1..4096*8"});
        all.push_back({program, "D=64", "B=16..65536*8"});
    }
    return all;
}

Result<MachineFit> fit_machine(const std::string& toml, const std::string& date, Device& device, Effort effort,
                               const std::vector<FitSubject>& subjects, Progress& progress) {
    MachineFit result;
    std::vector<TimedSample> all;
    const auto count = static_cast<double>(subjects.size());
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
        if (spent.count() > (effort == Effort::thorough ? 240 : 40)) {
            result.notes.push_back(
                fmt::format("{} of {} programs were timed: the machine is too busy for more", i, subjects.size()));
            break;
        }
        const auto done = static_cast<double>(i);
        PartialProgress part(progress, done / count, (done + 1) / count);
        const FitSubject& subject = subjects[i];
        auto status = time_subject(subject, toml, device, part, all, result.disturbed);
        if (status) continue;
        if (status.error().code == "interrupted") return fail(status.error());
        result.notes.push_back(fmt::format("`{}` was not timed: {}", subject.program, status.error().message));
    }
    std::vector<KernelSample> samples;
    for (const TimedSample& each : all) samples.push_back(each.sample);
    KernelModelsFit fit = fit_kernel_models(std::move(samples));
    if (!fit.calibrations.empty()) result.calibration = std::move(fit.calibrations.front());
    const auto useless = [](const CalibratedKernel& kernel) { return kernel.fit.error_held_out > max_error; };
    for (const CalibratedKernel& kernel : result.calibration.kernels) {
        if (!useless(kernel)) continue;
        result.notes.push_back(
            fmt::format("no model for {}{}{}: its mean error would be {} %; other work disturbed the runs, or their "
                        "kernels follow no one model",
                        name(kernel.key.kind), kernel.key.dtype.empty() ? "" : " ", kernel.key.dtype,
                        percent_text(kernel.fit.error_held_out)));
    }
    std::erase_if(result.calibration.kernels, useless);
    result.calibration.fitted = date;
    result.calibration.tool = fmt::format("roofline {}", ROOFLINE_VERSION);
    for (TimedSample& each : all) {
        if (const CalibratedKernel* fitted = choose_kernel(result.calibration, each.sample.key, "")) {
            each.program.expected_s = seconds_of(fitted->fit, each.sample.timed.point);
        }
        result.programs.push_back(std::move(each.program));
    }
    if (result.disturbed > 0) {
        result.notes.push_back(
            fmt::format("{} timed programs were disturbed and excluded from the kernel models", result.disturbed));
    }
    if (fit.too_few > 0) {
        result.notes.push_back(
            fmt::format("{} timed programs belong to kinds with too few measurements for a kernel model", fit.too_few));
    }
    return result;
}

std::string calibrated_file(Machine machine, Calibration calibration, const std::optional<NamedText>& before) {
    if (before) {
        if (auto old = parse_machine(before->text, before->name); old && machine.network.empty()) {
            machine.network = std::move(old->network);
        }
        if (auto old = parse_machine_calibration(before->text, before->name); old && *old) {
            calibration.models = std::move((*old)->models);
        }
    }
    std::string text = machine_text(machine);
    if (!calibration.kernels.empty() || !calibration.models.empty()) text += machine_calibration_text(calibration);
    return text;
}

}  // namespace roofline::core
