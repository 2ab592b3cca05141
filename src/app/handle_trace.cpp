#include <utility>

#include "app/request.hpp"
#include "app/system_option.hpp"
#include "predict/compare/trace.hpp"
#include "report/trace/trace_view.hpp"

namespace roofline::core {

Result<Response> handle(const TraceRequest& request, Format format) {
    if (request.machines.size() != 1) {
        return fail(request.machines.empty() ? "no_machine" : "bad_request",
                    request.machines.empty() ? "no machine is given"
                                             : "a profile was recorded on one machine, but several are given",
                    "for example --on h100-sxm");
    }
    if (names_slice(request.machines.front())) {
        return fail("bad_request", "a kernel profile is of one chip, but a slice is given",
                    "remove the part after the colon");
    }
    ROOFLINE_TRY(auto machine, resolve_machine(request.machines.front(), request.sets));
    ROOFLINE_TRY(const auto view, compare_profile(request.profile.text, request.profile.name, std::move(machine)));
    Response response;
    response.out = trace_view(view, format);
    if (request.plot) response.svg = trace_plot(view);
    return response;
}

}  // namespace roofline::core
