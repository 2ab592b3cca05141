#include "predict/profile/profile_operations.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "predict/profile/recomputation.hpp"

namespace roofline::core {

namespace {

/// What executions of one operation have in common.
using OperationKey = std::tuple<DeviceWork, bool, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                                std::uint32_t, std::int64_t>;

OperationKey key_of(const RecordedProfile& profile, const DeviceEvent& event, bool recomputed) {
    const bool kernel = event.work == DeviceWork::kernel;
    if (kernel && event.call != no_index) {
        const HostCall& call = profile.calls[event.call];
        return {event.work, recomputed, call.name, call.shapes, call.types, call.values, no_index, 0};
    }
    // Copies and collectives of one size are one operation, whoever asked for them.
    return {event.work, recomputed, no_index, no_index, no_index, event.name, event.detail, event.bytes};
}

/// Sets the fastest execution, the median and the number of executions that took these times, which are sorted.
void set_executions(ProfiledOperation& operation, std::vector<std::int64_t>& times_ns) {
    if (times_ns.empty()) return;
    std::sort(times_ns.begin(), times_ns.end());
    operation.least_ns = times_ns.front();
    const std::size_t middle = times_ns.size() / 2;
    operation.median_ns =
        times_ns.size() % 2 == 1 ? times_ns[middle] : std::midpoint(times_ns[middle - 1], times_ns[middle]);
    operation.count = static_cast<std::int64_t>(times_ns.size());
}

void add_kernel(ProfiledOperation& operation, const DeviceEvent& event) {
    const auto found = std::find_if(operation.kernels.begin(), operation.kernels.end(),
                                    [&](const ProfiledKernels& each) { return each.name == event.name; });
    if (found == operation.kernels.end()) {
        operation.kernels.push_back({event.name, 1, event.duration_ns});
    } else {
        ++found->launches;
        found->duration_ns += event.duration_ns;
    }
    operation.duration_ns += event.duration_ns;
}

}  // namespace

ProfiledOperations operations_of(const RecordedProfile& profile, const std::vector<ProfileStep>& steps) {
    const Recomputation recomputation(profile);
    std::map<OperationKey, std::size_t> places;
    std::vector<ProfiledOperation> operations;
    std::vector<std::uint32_t> of_event(profile.events.size(), no_index);
    std::map<std::uint32_t, std::pair<std::size_t, std::int64_t>> calls;  // the operation of each, and its time
    std::vector<std::vector<std::int64_t>> executions;                    // by operation
    for (const ProfileStep& step : steps) {
        if (step.warm_up) continue;
        for (const std::uint32_t index : step.events) {
            const DeviceEvent& event = profile.events[index];
            const bool recomputed = recomputation.has(event);
            const auto [place, added] = places.emplace(key_of(profile, event, recomputed), operations.size());
            if (added) {
                operations.emplace_back();
                executions.emplace_back();
                ProfiledOperation& operation = operations.back();
                operation.work = event.work;
                operation.recomputed = recomputed;
                operation.call = event.call;
                operation.detail = event.detail;
                operation.bytes = event.bytes;
            }
            of_event[index] = static_cast<std::uint32_t>(place->second);
            ProfiledOperation& operation = operations[place->second];
            add_kernel(operation, event);
            if (event.work == DeviceWork::kernel && event.call != no_index) {
                calls.emplace(event.call, std::pair(place->second, 0)).first->second.second += event.duration_ns;
                continue;
            }
            executions[place->second].push_back(event.duration_ns);
        }
    }
    for (const auto& [call, execution] : calls) executions[execution.first].push_back(execution.second);
    for (std::size_t i = 0; i < operations.size(); ++i) set_executions(operations[i], executions[i]);
    for (ProfiledOperation& operation : operations) {
        std::sort(operation.kernels.begin(), operation.kernels.end(),
                  [](const ProfiledKernels& a, const ProfiledKernels& b) {
                      return std::tuple(-a.duration_ns, a.name) < std::tuple(-b.duration_ns, b.name);
                  });
    }
    std::vector<std::uint32_t> order(operations.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(-operations[a].duration_ns, a) < std::pair(-operations[b].duration_ns, b);
    });
    ProfiledOperations sorted;
    std::vector<std::uint32_t> places_after(operations.size());
    for (const std::uint32_t before : order) {
        places_after[before] = static_cast<std::uint32_t>(sorted.all.size());
        sorted.all.push_back(std::move(operations[before]));
    }
    for (std::uint32_t& operation : of_event) {
        if (operation != no_index) operation = places_after[operation];
    }
    sorted.of_event = std::move(of_event);
    return sorted;
}

}  // namespace roofline::core
