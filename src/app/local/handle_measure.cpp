#include "app/local/handle_measure_cpu.hpp"
#include "app/local/handle_measure_gpu.hpp"
#include "app/local/local_request.hpp"

namespace roofline {

Result<Response> handle_measure(const MeasureRequest& request, Format format, bool color, Progress& progress) {
    switch (request.part) {
        case MeasureRequest::Part::cpu:
            return handle_measure_cpu(request, format, color, progress);
        case MeasureRequest::Part::gpu:
            return handle_measure_gpu(request, format, progress);
        case MeasureRequest::Part::network:
            break;
    }
    return fail("unsupported", "`roofline measure network` is being built");
}

}  // namespace roofline
