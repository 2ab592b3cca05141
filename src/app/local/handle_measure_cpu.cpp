#include "app/local/handle_measure_cpu.hpp"

#include "app/local/cpu_view.hpp"
#include "app/local/this_machine.hpp"
#include "machine/machine_text.hpp"
#include "measure/cpu/cpu_machine.hpp"
#include "measure/cpu/measure_cpu.hpp"

namespace roofline {

namespace {

CpuMeasureOptions options_of(Effort effort) {
    CpuMeasureOptions options;
    switch (effort) {
        case Effort::quick:
            options.samples = 10;
            options.sample_s = 0.002;
            options.idle_wait_s = 1;
            options.all_thread_counts = false;
            options.latency_points = 14;
            break;
        case Effort::normal:
            break;
        case Effort::thorough:
            options.samples = 120;
            options.sample_s = 0.008;
            options.idle_wait_s = 30;
            options.latency_points = 48;
            break;
    }
    return options;
}

}  // namespace

Result<Response> handle_measure_cpu(const MeasureRequest& request, Format format, bool color, Progress& progress) {
    // before the minute that follows, whatever would keep the result from being written
    std::string path = request.output;
    if (path.empty()) {
        auto usual = this_machine_path();
        if (!usual) return fail(usual.error());
        path = *usual;
    }
    if (auto status = make_folder_of(path); !status) return fail(status.error());
    auto measurement = measure_cpu(options_of(request.effort), progress);
    if (!measurement) return fail(measurement.error());
    auto machine = machine_of(*measurement, request.date);
    if (!machine) return fail(machine.error());
    MeasureReport report = cpu_report(*measurement, *machine, request.date);
    report.file = path;
    report.next = "use it: roofline op 'f32[B, D] * f32[D, F] -> f32[B, F]' --dims B=64,D=4096,F=4096 --on " +
                  (request.output.empty() ? std::string("this") : path);
    Response response;
    response.out = measure_report(report, format, color);
    response.files.push_back({path, machine_text(*machine)});
    return response;
}

}  // namespace roofline
