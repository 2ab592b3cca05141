#include "app/local/local_request.hpp"
#include "app/local/run_ranks.hpp"

namespace roofline {

Result<Response> handle_run(const RunRequest& request, Format format, bool color, Progress& progress) {
    if (for_ranks(request)) return run_on_ranks(request, format);
    static_cast<void>(color);
    static_cast<void>(progress);
    return fail("unsupported", "`roofline run` is being built");
}

}  // namespace roofline
