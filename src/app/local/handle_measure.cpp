#include "app/local/handle_measure_cpu.hpp"
#include "app/local/handle_measure_gpu.hpp"
#include "app/local/local_request.hpp"
#include "app/local/measure_network.hpp"

namespace roofline::core {

Result<Response> handle(const MeasureRequest& request, Format format, bool color, Progress& progress) {
    switch (request.part) {
        case MeasureRequest::Part::gpu:
            return handle_measure_gpu(request, format, progress);
        case MeasureRequest::Part::network:
            return measure_network(request, format, progress);
        case MeasureRequest::Part::cpu:
            break;
    }
    return handle_measure_cpu(request, format, color, progress);
}

}  // namespace roofline::core
