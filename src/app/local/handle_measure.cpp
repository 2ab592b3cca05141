#include "app/local/handle_measure_cpu.hpp"
#include "app/local/local_request.hpp"
#include "app/local/measure_network.hpp"

namespace roofline {

Result<Response> handle_measure(const MeasureRequest& request, Format format, bool color, Progress& progress) {
    if (request.part == MeasureRequest::Part::cpu) return handle_measure_cpu(request, format, color, progress);
    if (request.part == MeasureRequest::Part::network) return measure_network(request, format, progress);
    return fail("unsupported", "`roofline measure gpu` is being built");
}

}  // namespace roofline
