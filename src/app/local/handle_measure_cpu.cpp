#include "app/local/handle_measure_cpu.hpp"

#include <fmt/format.h>

#include "app/local/cpu_view.hpp"
#include "app/local/fit_machine.hpp"
#include "app/local/partial_progress.hpp"
#include "app/local/this_machine.hpp"
#include "app/local/verify_peaks.hpp"
#include "machine/machine_text.hpp"
#include "measure/cpu/cpu_machine.hpp"
#include "measure/cpu/measure_cpu.hpp"
#include "measure/run/cpu_device.hpp"

namespace roofline::core {

namespace {

// Fraction of the total time; the rest is used for the matmuls and programs that are timed.
constexpr double measuring_share = 0.6;

CpuMeasureOptions options_of(Effort effort) {
    CpuMeasureOptions options;
    switch (effort) {
        case Effort::quick:
            options.samples = 10;
            options.sample_s = 0.002;
            options.idle_wait_s = 1;
            options.memory_s = 4;
            options.all_thread_counts = false;
            options.latency_points = 14;
            break;
        case Effort::normal:
            break;
        case Effort::thorough:
            options.samples = 120;
            options.sample_s = 0.008;
            options.idle_wait_s = 30;
            options.memory_s = 120;
            options.latency_points = 48;
            break;
    }
    return options;
}

/// Only full measurements fit expected times, so a file that contains them is a full measurement.
Status check_replacement(const MeasureRequest& request) {
    if (request.effort != Effort::quick || request.replace || !request.before) return {};
    const auto old = parse_machine_calibration(request.before->text, request.before->name);
    if (!old || !*old || (*old)->kernels.empty()) return {};
    return fail("bad_request",
                fmt::format("{} contains a full measurement, which --quick would replace", request.before->name),
                "write the quick one to another file, e.g. -o quick.toml, or pass --replace");
}

/// Runs real programs: checks the peaks with matmuls, and fits expected times.
Status run_programs(const MeasureRequest& request, const CpuMeasurement& measurement, Device& device,
                    Progress& progress, Machine& machine, Calibration& calibration, MeasureReport& report) {
    const auto registers = [&](Dtype dtype) { return peak_now(measurement, options_of(request.effort), dtype); };
    ROOFLINE_TRY(auto verified, verify_peaks(machine, device, request.effort, progress, registers));
    downgrade_unverified(machine, verified);
    report.tables.push_back(verification_table(verified, device.name()));
    if (request.effort == Effort::quick) {
        report.notes.emplace_back("no expected times: --quick omits the runs that they are fitted to");
        return {};
    }
    ROOFLINE_TRY(auto fit, fit_machine(machine_text(machine), request.date, device, request.effort,
                                       fit_subjects(request.effort), progress));
    calibration = std::move(fit.calibration);
    calibration.machine = machine.id;
    report.tables.push_back(model_table(calibration));
    report.tables.push_back(timed_table(fit.programs));
    report.notes.insert(report.notes.end(), fit.notes.begin(), fit.notes.end());
    return {};
}

}  // namespace

Result<Response> handle_measure_cpu(const MeasureRequest& request, Format format, bool color, Progress& progress) {
    ROOFLINE_CHECK(check_replacement(request));
    // Anything that would prevent writing the result must fail before the measurement, which takes a minute.
    std::string path = request.output;
    if (path.empty()) {
        ROOFLINE_TRY(path, this_machine_path());
    }
    ROOFLINE_CHECK(make_folder_of(path));
    const double share = request.effort == Effort::quick ? 0.9 : measuring_share;
    PartialProgress measuring(progress, 0, share);
    ROOFLINE_TRY(auto measurement, measure_cpu(options_of(request.effort), measuring));
    ROOFLINE_TRY(auto machine, machine_of(measurement, request.date));
    MeasureReport report = cpu_report(measurement, machine, request.date);
    Calibration calibration;
    auto device = make_cpu_device({measurement.threads, true});
    if (device) {
        PartialProgress beside(progress, share, 1);
        ROOFLINE_CHECK(run_programs(request, measurement, **device, beside, machine, calibration, report));
    } else {
        downgrade_unverified(machine, {});
        report.notes.push_back("the peaks were not verified with matmuls: " + device.error().message);
    }
    report.file = path;
    report.next = "use it: roofline op 'f32[B, D] * f32[D, F] -> f32[B, F]' --dims B=64,D=4096,F=4096 --on " +
                  (request.output.empty() ? std::string("this") : path);
    Response response;
    response.out = measure_report(report, format, color);
    response.files.push_back({path, calibrated_file(machine, std::move(calibration), request.before)});
    return response;
}

}  // namespace roofline::core
