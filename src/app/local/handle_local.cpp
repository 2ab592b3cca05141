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
    // This must happen while there is a single thread: threads of MPI read the environment, which must not change
    // meanwhile.
    configure_openmp(1);
    auto response = std::visit(
        [&](const auto& asked) { return handle(asked, request.format, request.color, progress); }, request.what);
    if (response) return std::move(*response);
    return failed_response(response.error(), exit_code(response.error()), request.format);
}

}  // namespace roofline::core
