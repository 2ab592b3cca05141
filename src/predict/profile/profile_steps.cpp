#include "predict/profile/profile_steps.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

constexpr double warm_up_factor = 1.2;

/// A range of the host's or the device's time that is a step.
struct StepRange {
    std::string name;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    bool on_device = false;
};

/// Whether a range is named as a step: "step 12", "iteration_3".
bool names_step(std::string_view name) {
    const std::string text = lowered(name);
    constexpr std::string_view words[] = {"step", "iteration", "iter", "train_step", "train step", "training step"};
    return std::any_of(std::begin(words), std::end(words), [&](std::string_view word) {
        return text.starts_with(word) && text.size() > word.size() &&
               text.find_first_not_of(" _#:/0123456789", word.size()) == std::string::npos &&
               text.find_first_of("0123456789") != std::string::npos;
    });
}

/// Ranges of torch.profiler, else steps of JAX, else executions of the module that takes longest.
std::vector<StepRange> step_ranges(const RecordedProfile& profile, std::int32_t device) {
    std::vector<StepRange> host;
    std::vector<StepRange> named;
    std::vector<StepRange> steps;
    std::map<std::string, std::vector<StepRange>> modules;
    for (const Annotation& annotation : profile.annotations) {
        const std::string& name = profile.text(annotation.name);
        StepRange range{name, annotation.start_ns, annotation.end_ns(), annotation.on_device};
        if (!annotation.on_device) {
            if (name.starts_with("ProfilerStep")) {
                host.push_back(std::move(range));
            } else if (names_step(name)) {
                named.push_back(std::move(range));
            }
        } else if (annotation.device == device) {
            if (name.starts_with("Step ")) steps.push_back(std::move(range));
            // "jit_step(1234567)": the number is that of the program
            else if (name.starts_with("jit_") || name.starts_with("pjit_") || name.starts_with("pmap_"))
                modules[name.substr(0, name.find('('))].push_back(std::move(range));
        }
    }
    if (!host.empty()) return host;
    if (!steps.empty()) return steps;
    std::vector<StepRange> longest;
    std::int64_t most = 0;
    for (auto& [name, ranges] : modules) {
        std::int64_t total = 0;
        for (StepRange& range : ranges) {
            total += range.end_ns - range.start_ns;
            range.name = name;
        }
        if (total > most) {
            most = total;
            longest = std::move(ranges);
        }
    }
    return longest.empty() ? named : longest;
}

/// Index of the range that contains a time; ranges are sorted by their starts and do not overlap.
std::size_t range_at(const std::vector<StepRange>& ranges, std::int64_t time) {
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), time,
                                        [](std::int64_t at, const StepRange& range) { return at < range.start_ns; });
    if (after == ranges.begin()) return ranges.size();
    const auto range = std::prev(after);
    return time < range->end_ns ? static_cast<std::size_t>(range - ranges.begin()) : ranges.size();
}

void find_warm_up(std::vector<ProfileStep>& steps) {
    for (std::size_t first = 0; first + 2 < steps.size(); ++first) {
        std::vector<std::int64_t> later;
        for (std::size_t i = first + 1; i < steps.size(); ++i) later.push_back(steps[i].duration_ns());
        std::sort(later.begin(), later.end());
        const auto median = static_cast<double>(later[later.size() / 2]);
        if (!(static_cast<double>(steps[first].duration_ns()) > warm_up_factor * median)) return;
        steps[first].warm_up = true;
    }
}

}  // namespace

std::vector<std::int32_t> devices_of(const RecordedProfile& profile) {
    std::set<std::int32_t> devices;
    for (const DeviceEvent& event : profile.events) devices.insert(event.device);
    return {devices.begin(), devices.end()};
}

std::int32_t busiest_device(const RecordedProfile& profile) {
    std::map<std::int32_t, std::int64_t> busy;
    for (const DeviceEvent& event : profile.events) busy[event.device] += event.duration_ns;
    const auto most =
        std::max_element(busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most->first;
}

std::vector<ProfileStep> find_steps(const RecordedProfile& profile, std::int32_t device) {
    const std::vector<StepRange> ranges = step_ranges(profile, device);
    std::vector<ProfileStep> steps(std::max<std::size_t>(1, ranges.size()));
    for (std::size_t i = 0; i < ranges.size(); ++i) steps[i].name = ranges[i].name;
    for (std::uint32_t i = 0; i < profile.events.size(); ++i) {
        const DeviceEvent& event = profile.events[i];
        if (event.device != device) continue;
        std::size_t step = 0;
        if (!ranges.empty()) {
            const bool launched = !ranges.front().on_device && event.launch != no_index;
            step = range_at(ranges, launched ? profile.launches[event.launch].start_ns : event.start_ns);
        }
        if (step < steps.size()) steps[step].events.push_back(i);
    }
    std::erase_if(steps, [](const ProfileStep& step) { return step.events.empty(); });
    if (steps.empty()) {  // the device did nothing in any of them
        steps.emplace_back();
        for (std::uint32_t i = 0; i < profile.events.size(); ++i) {
            if (profile.events[i].device == device) steps.front().events.push_back(i);
        }
    }
    for (ProfileStep& step : steps) {
        step.start_ns = profile.events[step.events.front()].start_ns;
        for (const std::uint32_t event : step.events)
            step.end_ns = std::max(step.end_ns, profile.events[event].end_ns());
    }
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) steps[i].end_ns = steps[i + 1].start_ns;
    find_warm_up(steps);
    return steps;
}

namespace {

enum Running : std::uint8_t { kernel, collective, copy };

/// The beginning or the end of an event, or the beginning of a step.
struct Edge {
    std::int64_t time = 0;
    int change = 0;  ///< of how many run; 0: a step begins, or the last one ends
    Running of = kernel;
    std::uint32_t event = no_index;  ///< that begins
};

std::vector<Edge> edges_of(const RecordedProfile& profile, std::int32_t device, const std::vector<ProfileStep>& steps) {
    std::vector<Edge> edges;
    for (std::uint32_t index = 0; index < profile.events.size(); ++index) {
        const DeviceEvent& event = profile.events[index];
        if (event.device != device || event.duration_ns == 0) continue;
        Running of = copy;
        if (event.work == DeviceWork::kernel) of = kernel;
        if (event.work == DeviceWork::collective) of = collective;
        edges.push_back({event.start_ns, 1, of, index});
        edges.push_back({event.end_ns(), -1, of, no_index});
    }
    for (const ProfileStep& step : steps) edges.push_back({step.start_ns, 0, kernel, step.events.front()});
    if (!steps.empty()) edges.push_back({steps.back().end_ns, 0, kernel, no_index});
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
        return std::tuple(a.time, a.change, a.event) < std::tuple(b.time, b.change, b.event);
    });
    return edges;
}

}  // namespace

std::vector<StepDivision> divide_steps(const RecordedProfile& profile, std::int32_t device,
                                       const std::vector<ProfileStep>& steps) {
    std::vector<StepDivision> all(steps.size());
    std::array<int, 3> running{};
    std::int64_t now = std::numeric_limits<std::int64_t>::min();
    std::size_t next_step = 0;
    for (const Edge& edge : edges_of(profile, device, steps)) {
        const std::int64_t time = next_step == 0 ? 0 : edge.time - now;
        if (time > 0) {
            StepDivision& times = all[next_step - 1];
            if (running[kernel] > 0) {
                times.kernels += time;
                if (running[collective] > 0) times.hidden += time;
            } else if (running[collective] > 0) {
                times.exposed += time;
            } else if (running[copy] > 0) {
                times.copies += time;
            } else if (edge.event == no_index || profile.events[edge.event].launch == no_index) {
                times.idle += time;
            } else {
                const Launch& launch = profile.launches[profile.events[edge.event].launch];
                const std::int64_t launched = std::clamp(launch.end_ns(), now, edge.time);
                times.host += launched - now;
                times.queued += edge.time - launched;
            }
        }
        now = edge.time;
        running[edge.of] += edge.change;
        if (edge.change == 0 && next_step++ == steps.size()) break;
    }
    return all;
}

}  // namespace roofline::core
