#include "app/local/local_request.hpp"
#include "app/local/run_points.hpp"
#include "app/op_answers.hpp"
#include "measure/run/cpu_device.hpp"

namespace roofline {

Result<Response> handle_run(const RunRequest& request, Format format, bool color, Progress& progress) {
    auto device = make_cpu_device({request.threads, true});
    if (!device) return fail(device.error());
    auto answer = run_points(request, **device, progress);
    if (!answer) return fail(answer.error());
    if (request.op.machines.empty()) {
        answer->notes.insert(answer->notes.begin(),
                             "this machine has not been measured, so there is no prediction: `roofline measure cpu` "
                             "does it in a minute, or name a machine with --on");
    }
    Response response;
    if (request.plot != PlotKind::none) {
        std::vector<OpAnswer> swept;
        if (!request.op.machines.empty()) {
            auto predicted = op_answers(request.op, answer->axes);
            if (!predicted) return fail(predicted.error());
            swept = std::move(*predicted);
        }
        auto svg = run_plot(*answer, swept, request.plot);
        if (!svg) return fail(svg.error());
        response.svg = std::move(*svg);
    }
    response.out = run_report(*answer, format, color);
    for (const RunPoint& point : answer->points) {
        if (!point.right()) response.exit_code = 1;
    }
    return response;
}

}  // namespace roofline
