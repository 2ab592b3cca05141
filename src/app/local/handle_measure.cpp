#include "app/local/handle_measure_gpu.hpp"
#include "app/local/local_request.hpp"

namespace roofline {

Result<Response> handle_measure(const MeasureRequest& request, Format format, bool color, Progress& progress) {
    static_cast<void>(color);
    if (request.part == MeasureRequest::Part::gpu) return handle_measure_gpu(request, format, progress);
    return fail("unsupported", "`roofline measure` is being built");
}

}  // namespace roofline
