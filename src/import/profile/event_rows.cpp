#include "import/profile/event_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "import/profile/communication_names.hpp"
#include "import/profile/public_text.hpp"

namespace roofline::core {

namespace {

constexpr std::size_t most_event_rows = 50'000'000;

auto row_key(const DeviceEvent& event) {
    return std::tuple(event.start_ns, event.duration_ns, event.device, event.stream, event.name, event.bytes);
}

}  // namespace

std::string_view copy_name(bool from_device, bool to_device, bool same_device) {
    if (from_device && to_device) return same_device ? "Memcpy DtoD" : "Memcpy PtoP";
    if (from_device) return "Memcpy DtoH";
    return to_device ? "Memcpy HtoD" : "Memcpy HtoH";
}

EventRows::EventRows(const std::string& name, std::string tool) {
    profile_.name = name;
    profile_.tool = std::move(tool);
}

bool EventRows::sound(std::int64_t start_ns, std::int64_t end_ns) {
    constexpr std::int64_t most = std::int64_t{1} << 62;
    const bool right = start_ns >= 0 && end_ns >= start_ns && end_ns < most;
    left_out_ += right ? 0U : 1U;
    return right;
}

void EventRows::add(const EventRow& row) {
    if (!sound(row.start_ns, row.end_ns)) return;
    DeviceEvent event;
    event.start_ns = row.start_ns;
    event.duration_ns = row.end_ns - row.start_ns;
    event.name = profile_.texts.add(row.name.empty() ? "unnamed kernel" : without_paths(row.name));
    event.work = row.work;
    event.bytes = std::max<std::int64_t>(0, row.bytes);
    const auto stream = static_cast<std::int32_t>(streams_.size());
    event.stream = streams_.emplace(std::pair(row.device, row.stream), stream).first->second;
    if (event.work == DeviceWork::kernel && is_communication_kernel(row.name)) event.work = DeviceWork::collective;
    if (event.work == DeviceWork::collective) {
        EventDetail detail;
        detail.collective = collective_in_name(row.name);
        event.detail = details_.add(profile_, detail);
    }
    devices_.emplace(row.device, 0);
    event_devices_.push_back(row.device);
    profile_.events.push_back(event);
    links_.event_correlations.push_back(row.correlation);
    links_.event_externals.push_back(no_link);
}

void EventRows::add_launch(std::int64_t start_ns, std::int64_t end_ns, std::int64_t correlation, std::int64_t thread) {
    if (!sound(start_ns, end_ns) || correlation == no_link) return;
    auto& known = threads_.emplace(thread, no_index).first->second;
    if (known == no_index) known = profile_.texts.add(fmt::format("thread {}", threads_.size()));
    links_.launches.emplace_back(correlation, static_cast<std::uint32_t>(profile_.launches.size()));
    profile_.launches.push_back({start_ns, end_ns - start_ns, known});
}

void EventRows::add_range(std::int64_t start_ns, std::int64_t end_ns, std::string_view name) {
    if (name.empty() || !sound(start_ns, end_ns)) return;
    profile_.annotations.push_back({start_ns, end_ns - start_ns, profile_.texts.add(without_paths(name)), false, 0});
}

void EventRows::name_device(std::int64_t device, std::string_view name) { device_names_.emplace(device, name); }

bool EventRows::full() const {
    return profile_.events.size() + profile_.launches.size() + profile_.annotations.size() >= most_event_rows;
}

tl::unexpected<Error> EventRows::too_many() const {
    return fail("too_large", fmt::format("{} has more than 50 million events", profile_.name), "record fewer steps");
}

void EventRows::number_devices() {
    std::int32_t next = 0;
    for (auto& [number, place] : devices_) {
        place = next++;
        const auto name = device_names_.find(number);
        profile_.devices.push_back(name == device_names_.end() ? "" : name->second);
    }
    for (std::size_t i = 0; i < profile_.events.size(); ++i) {
        profile_.events[i].device = devices_[event_devices_[i]];
    }
}

// A stream cannot run the same kernel twice from the same nanosecond to the same nanosecond.
void EventRows::leave_out_twice() {
    auto& events = profile_.events;
    const auto same = [](const DeviceEvent& a, const DeviceEvent& b) {
        return a.duration_ns > 0 && row_key(a) == row_key(b);
    };
    const auto end = std::unique(events.begin(), events.end(), same);
    const auto twice = events.end() - end;
    events.erase(end, events.end());
    if (twice > 0) {
        note(fmt::format("{} event{} twice in the file, and count{} once", twice, twice == 1 ? " is" : "s are",
                         twice == 1 ? "s" : ""));
    }
}

Result<RecordedProfile> EventRows::finish(std::string_view remedy) {
    if (profile_.events.empty()) {
        return fail("no_kernels",
                    left_out_ > 0 ? fmt::format("{}: no event has a valid time: {} left out", profile_.name, left_out_)
                                  : fmt::format("{}: this file has no work of a device", profile_.name),
                    std::string(remedy));
    }
    if (left_out_ > 0) {
        note(fmt::format("{} event{} before {} left out", left_out_, left_out_ == 1 ? " that ends" : "s that end",
                         left_out_ == 1 ? "it begins is" : "they begin are"));
    }
    number_devices();
    join_calls(profile_, links_);
    std::sort(profile_.events.begin(), profile_.events.end(),
              [](const DeviceEvent& a, const DeviceEvent& b) { return row_key(a) < row_key(b); });
    leave_out_twice();
    std::sort(profile_.annotations.begin(), profile_.annotations.end(), [](const Annotation& a, const Annotation& b) {
        return std::tuple(a.start_ns, -a.duration_ns, a.name) < std::tuple(b.start_ns, -b.duration_ns, b.name);
    });
    return std::move(profile_);
}

}  // namespace roofline::core
