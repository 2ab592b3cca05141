#include "app/local/handle_measure_gpu.hpp"

#include <fmt/format.h>

#include "app/local/this_machine.hpp"
#include "machine/machine_text.hpp"
#include "measure/gpu/gpu_machine.hpp"
#include "measure/gpu/measure_gpu.hpp"
#include "report/machine/machine_json.hpp"
#include "report/machine/machine_view.hpp"

namespace roofline::core {

namespace {

/// Returns options for a measurement of about ten seconds, most of a minute, or several minutes; there are about thirty
/// quantities to measure.
GpuMeasureOptions gpu_options(Effort effort) {
    GpuMeasureOptions options;
    options.sampling.sample_s = 0.01;
    options.sampling.warm_up_s = 0.1;
    options.sampling.max_duration_s = 1;
    options.sampling.samples = 11;
    options.sides = {2048, 4096, 8192};
    if (effort == Effort::quick) {
        options.ways = 3;
        return options;
    }
    options.sampling.samples = 25;
    options.sampling.sample_s = 0.02;
    options.sampling.max_duration_s = 3;
    options.sampling.warm_up_s = 0.3;
    options.sides = {2048, 4096, 6144, 8192, 12288};
    if (effort == Effort::thorough) {
        options.sampling.samples = 101;
        options.sampling.max_duration_s = 10;
        options.sides = {2048, 4096, 6144, 8192, 10240, 12288, 16384, 20480};
        options.ways = 16;
    }
    return options;
}

}  // namespace

Result<Response> handle_measure_gpu(const MeasureRequest& request, Format format, Progress& progress,
                                    const std::string& libraries) {
    std::string path = request.output;
    if (path.empty()) {
        ROOFLINE_TRY(path, this_machine_path());
        ROOFLINE_CHECK(make_folder_of(path));
    }
    ROOFLINE_TRY(auto gpu, Gpu::open(libraries));
    ROOFLINE_TRY(auto measurement, measure_gpu(*gpu, gpu_options(request.effort), progress));
    const Machine machine = machine_of_gpu(measurement, request.date);
    Response response;
    response.files.push_back({path, machine_text(machine)});
    response.out = format == Format::json ? machine_show_json(machine) : machine_show(machine, format);
    if (format == Format::text) {
        for (const std::string& note : measurement.notes) response.out += fmt::format("note: {}\n", note);
        response.out +=
            fmt::format("written to {}; use it with `--on {}`\n", path, request.output.empty() ? "this" : path);
    }
    return response;
}

}  // namespace roofline::core
