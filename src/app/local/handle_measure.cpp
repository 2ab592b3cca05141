#include "app/local/local_request.hpp"
#include "app/local/measure_network.hpp"

namespace roofline {

Result<Response> handle_measure(const MeasureRequest& request, Format format, bool color, Progress& progress) {
    if (request.part == MeasureRequest::Part::network) return measure_network(request, format, progress);
    static_cast<void>(color);
    return fail("unsupported", "`roofline measure` is being built");
}

}  // namespace roofline
