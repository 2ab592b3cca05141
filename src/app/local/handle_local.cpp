#include "app/local/local_request.hpp"
#include "measure/run/cpu_device.hpp"

namespace roofline::core {

namespace {

int exit_code(const Error& error) {
    if (error.code == "interrupted") return 130;
    if (error.code == "absent") return 3;
    return error.code == "check_failed" ? 1 : 2;
}

}  // namespace

Response handle_local(const LocalRequest& request, Progress& progress) {
    // called here, while there is only one thread, because MPI's threads read the environment, which must not change
    // meanwhile
    configure_openmp(1);
    const auto* measure = std::get_if<MeasureRequest>(&request.what);
    auto response = measure != nullptr
                        ? handle_measure(*measure, request.format, request.color, progress)
                        : handle_run(std::get<RunRequest>(request.what), request.format, request.color, progress);
    if (response) return std::move(*response);
    return failed_response(response.error(), exit_code(response.error()), request.format);
}

}  // namespace roofline::core
