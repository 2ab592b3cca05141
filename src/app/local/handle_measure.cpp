#include "app/local/handle_measure_cpu.hpp"
#include "app/local/local_request.hpp"

namespace roofline {

Result<Response> handle_measure(const MeasureRequest& request, Format format, bool color, Progress& progress) {
    if (request.part == MeasureRequest::Part::cpu) return handle_measure_cpu(request, format, color, progress);
    return fail("unsupported", "`roofline measure` of anything but the processor is being built");
}

}  // namespace roofline
