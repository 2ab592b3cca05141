#include <fmt/format.h>

#include "app/local/local_request.hpp"
#include "app/local/run_points.hpp"
#include "app/local/run_ranks.hpp"
#include "app/op_answers.hpp"
#include "measure/gpu/gpu_device.hpp"
#include "measure/run/cpu_device.hpp"
#include "report/op/op_plot.hpp"

namespace roofline::core {

namespace {

/// Returns the predictions that the plot shows. Errors: there is nothing to draw, or the kind of plot does not fit.
Result<std::vector<Prediction>> predicted_plot(const RunRequest& request) {
    if (request.op.machines.empty()) {
        return fail("no_machine", "there is no roofline to plot: this machine has not been measured",
                    fmt::format("roofline measure {}, or name a machine with --on", request.on_gpu ? "gpu" : "cpu"));
    }
    ROOFLINE_TRY(auto axes, sweep_axes(request.op));
    ROOFLINE_TRY(auto answers, op_answers(request.op, axes));
    ROOFLINE_CHECK(op_plot(answers, axes, request.plot));
    return answers;
}

Result<std::unique_ptr<Device>> device_of(const RunRequest& request) {
    if (!request.on_gpu) return make_cpu_device({request.threads, true});
    if (request.threads > 0) {
        return fail("usage", "--threads is for the processor, but this runs on the GPU", "remove one of the options");
    }
    return make_gpu_device(request.gpu_libraries);
}

}  // namespace

Result<Response> handle(const RunRequest& request, Format format, bool color, Progress& progress) {
    if (for_ranks(request)) {
        if (request.page) {
            return fail("unsupported", "a run on several ranks has no report", "leave --html out");
        }
        if (request.on_gpu) {
            return fail("unsupported", "a program that is split over ranks runs only on processors, not on GPUs",
                        "remove --on gpu or the mesh");
        }
        return run_on_ranks(request, format);
    }
    std::vector<Prediction> drawn;
    if (request.plot != PlotKind::none) {  // rejected now rather than after the measurement
        ROOFLINE_TRY(drawn, predicted_plot(request));
    }
    ROOFLINE_TRY(auto device, device_of(request));
    ROOFLINE_TRY(auto answer, run_points(request, *device, progress));
    if (request.op.machines.empty()) {
        answer.notes.insert(answer.notes.begin(),
                            fmt::format("this machine has not been measured, so there is no prediction: `roofline "
                                        "measure {}` does it in a minute, or name a machine with --on",
                                        request.on_gpu ? "gpu" : "cpu"));
    }
    Response response;
    if (request.plot != PlotKind::none) {
        ROOFLINE_TRY(response.svg, run_plot(answer, drawn, request.plot));
    }
    if (request.page) {
        if (request.plot == PlotKind::none && !request.op.machines.empty()) {
            ROOFLINE_TRY(const auto axes, sweep_axes(request.op));
            ROOFLINE_TRY(drawn, op_answers(request.op, axes));
        }
        response.page = run_page(answer, drawn);
    }
    response.out = run_report(answer, format, color);
    for (const RunPoint& point : answer.points) {
        if (!point.right()) response.exit_code = 1;
    }
    return response;
}

}  // namespace roofline::core
