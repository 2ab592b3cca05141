#include "app/local/local_request.hpp"

namespace roofline {

Result<Response> handle_measure(const MeasureRequest& request, Format format, bool color, Progress& progress) {
    static_cast<void>(request);
    static_cast<void>(format);
    static_cast<void>(color);
    static_cast<void>(progress);
    return fail("unsupported", "`roofline measure` is being built");
}

}  // namespace roofline
