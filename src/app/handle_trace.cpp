#include "app/handle_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/system_option.hpp"
#include "bound/times.hpp"
#include "import/kernel_profile.hpp"
#include "report/trace/trace_view.hpp"

namespace roofline::core {

namespace {

// Counters beyond it are not to be believed, and sums of them would overflow.
constexpr double most_counted = 9e18;

/// What the counters say as work; levels that the machine has no bandwidth for are left out.
Result<Work> work_of(const ProfiledKernel& kernel, const Machine& machine) {
    Work work;
    for (const KernelFlops& flops : kernel.flops) {
        if (!(flops.flops <= most_counted)) return fail("out_of_range", "more FLOPs than can be counted");
        work.add_flops(flops.unit, flops.dtype, Polynomial{static_cast<std::int64_t>(std::llround(flops.flops))});
    }
    for (const auto& [level, bytes] : kernel.bytes) {
        if (!(bytes <= most_counted)) return fail("out_of_range", "more bytes than can be counted");
        if (level != "hbm" && !bandwidth_of(machine, level)) continue;
        work.memory[level].read = Polynomial{static_cast<std::int64_t>(std::llround(bytes))};
    }
    return work;
}

/// The bound of all launches together, as price() has it for any other work.
Status bound(const ProfiledKernel& kernel, const Machine& machine, TracedKernel& traced) {
    ROOFLINE_TRY(auto work, work_of(kernel, machine));
    ROOFLINE_TRY(auto pricing, price(work, machine));
    const CompiledTimes times(pricing, {}, {});
    std::vector<double> seconds(times.places());
    const Bounds bounds = times.evaluate({}, seconds);
    if (!bounds.bound_by) return {};
    traced.lower_s = bounds.lower;
    traced.bound_by = pricing.resources[*bounds.bound_by].label;
    return {};
}

TracedKernel traced(const ProfiledKernel& kernel, const Machine& machine) {
    TracedKernel result;
    result.name = kernel.name;
    result.launches = kernel.launches;
    result.line = kernel.line;
    result.measured_s = kernel.time_s;
    result.doubt = kernel.doubt;
    double flops = 0;
    for (const KernelFlops& each : kernel.flops) flops += each.flops;
    if (flops > 0) result.flops = flops;
    const auto bytes = kernel.bytes.find("hbm");
    if (bytes != kernel.bytes.end()) result.bytes = bytes->second;
    // Work whose operations were not counted would have too low a bound.
    if (!kernel.doubt.empty()) return result;
    if (auto status = bound(kernel, machine, result); !status) result.doubt = status.error().message;
    return result;
}

}  // namespace

Result<Response> handle_trace(const TraceRequest& request, Format format) {
    if (request.machines.size() != 1) {
        return fail(request.machines.empty() ? "no_machine" : "bad_request",
                    request.machines.empty() ? "no machine is named"
                                             : "a profile was taken on one machine, and --on names several",
                    "say which: --on h100-sxm");
    }
    if (names_slice(request.machines.front())) {
        return fail("bad_request", "a profile of kernels is of one chip, and --on names a slice",
                    "leave out what stands behind the colon");
    }
    ROOFLINE_TRY(auto machine, resolve_machine(request.machines.front(), request.sets));
    ROOFLINE_TRY(auto profile, read_kernel_profile(request.profile.text, request.profile.name));
    TraceView view;
    view.profile = request.profile.name.substr(request.profile.name.rfind('/') + 1);
    view.tool = profile.tool;
    view.notes = std::move(profile.notes);
    for (const ProfiledKernel& kernel : profile.kernels) view.kernels.push_back(traced(kernel, machine));
    std::sort(view.kernels.begin(), view.kernels.end(), [](const TracedKernel& a, const TracedKernel& b) {
        return a.measured_s != b.measured_s ? a.measured_s > b.measured_s : a.line < b.line;
    });
    view.machine = std::move(machine);
    Response response;
    response.out = trace_view(view, format);
    if (request.plot) response.svg = trace_plot(view);
    return response;
}

}  // namespace roofline::core
