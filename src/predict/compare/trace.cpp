#include "predict/compare/trace.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bound/pricing.hpp"
#include "bound/times.hpp"
#include "import/kernel_profile.hpp"
#include "work/work.hpp"

namespace roofline::core {

std::optional<double> TracedKernel::intensity() const {
    if (!flops || !bytes || *flops <= 0 || *bytes <= 0) return std::nullopt;
    return *flops / *bytes;
}

std::optional<double> TracedKernel::flop_per_s() const {
    if (!flops || *flops <= 0 || measured_s <= 0) return std::nullopt;
    return *flops / measured_s;
}

std::optional<double> TracedKernel::roof_fraction() const {
    if (!lower_s || measured_s <= 0) return std::nullopt;
    return *lower_s / measured_s;
}

namespace {

// Larger counter values are not credible, and their sums would overflow.
constexpr double max_counter = 9e18;

/// Returns the work according to the counters. Levels without a bandwidth on this machine are left out.
Result<Work> work_of(const ProfiledKernel& kernel, const Machine& machine) {
    Work work;
    for (const KernelFlops& flops : kernel.flops) {
        if (!(flops.flops <= max_counter)) return fail("out_of_range", "more FLOPs than can be counted");
        work.add_flops(flops.unit, flops.dtype, Polynomial{static_cast<std::int64_t>(std::llround(flops.flops))});
    }
    for (const auto& [level, bytes] : kernel.bytes) {
        if (!(bytes <= max_counter)) return fail("out_of_range", "more bytes than can be counted");
        if (level != "hbm" && !bandwidth_of(machine, level)) continue;
        work.memory[level].read = Polynomial{static_cast<std::int64_t>(std::llround(bytes))};
    }
    return work;
}

/// Computes the bound of all launches together, with price() as for any other work.
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
    // If some operations were not counted, the bound would be too low.
    if (!kernel.doubt.empty()) return result;
    if (auto status = bound(kernel, machine, result); !status) result.doubt = status.error().message;
    return result;
}

}  // namespace

Result<ProfileComparison> compare_profile(std::string_view profile, const std::string& name, Machine machine) {
    ROOFLINE_TRY(auto read, read_kernel_profile(profile, name));
    ProfileComparison comparison;
    comparison.profile = name.substr(name.rfind('/') + 1);
    comparison.tool = read.tool;
    comparison.notes = std::move(read.notes);
    for (const ProfiledKernel& kernel : read.kernels) comparison.kernels.push_back(traced(kernel, machine));
    std::sort(comparison.kernels.begin(), comparison.kernels.end(), [](const TracedKernel& a, const TracedKernel& b) {
        return a.measured_s != b.measured_s ? a.measured_s > b.measured_s : a.line < b.line;
    });
    comparison.machine = std::move(machine);
    return comparison;
}

}  // namespace roofline::core
