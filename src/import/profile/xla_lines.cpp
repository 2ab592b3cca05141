#include "import/profile/xla_lines.hpp"

#include <charconv>
#include <string>

#include "base/ascii.hpp"
#include "import/profile/communication_names.hpp"

namespace roofline::core {

std::uint32_t EventDetails::add(RecordedProfile& profile, const EventDetail& detail) {
    const std::array<double, 11> key{static_cast<double>(detail.module),
                                     static_cast<double>(detail.instruction),
                                     static_cast<double>(detail.category),
                                     static_cast<double>(detail.source),
                                     static_cast<double>(detail.scope),
                                     detail.flops,
                                     detail.bytes,
                                     detail.collective ? static_cast<double>(*detail.collective) : -1,
                                     detail.dtype ? static_cast<double>(*detail.dtype) : -1,
                                     static_cast<double>(detail.group),
                                     static_cast<double>(detail.ranks)};
    const auto [found, added] = numbers_.emplace(key, static_cast<std::uint32_t>(profile.details.size()));
    if (added) profile.details.push_back(detail);
    return found->second;
}

void add_xla_event(RecordedProfile& profile, ProfileLinks& links, EventDetails& details, std::int32_t device,
                   std::string_view line, std::uint32_t number, const XlaLineEvent& event) {
    if (line == "Steps" || line == "XLA Modules") {
        std::uint32_t name = event.name;
        if (line == "Steps") name = profile.texts.add("Step " + profile.text(name));
        profile.annotations.push_back({event.start_ns, event.duration_ns, name, true, device});
        return;
    }
    const bool instructions = line.ends_with("XLA Ops");  // "Async XLA Ops", too
    if (!instructions && !line.starts_with("Stream")) return;
    DeviceEvent added;
    added.start_ns = event.start_ns;
    added.duration_ns = event.duration_ns;
    added.name = event.name;
    added.device = device;
    added.stream = static_cast<std::int32_t>(number);
    EventDetail detail = event.detail;
    const std::string& name = profile.text(event.name);
    const std::string kind = lowered(name);
    if (kind.starts_with("memcpy")) added.work = DeviceWork::copy;
    if (kind.starts_with("memset")) added.work = DeviceWork::set;
    if (is_communication_kernel(name) || collective_in_name(name)) {
        added.work = DeviceWork::collective;
        detail.collective = collective_in_name(name);
    }
    if (detail.instruction == no_index && instructions) detail.instruction = event.name;
    added.detail = details.add(profile, detail);
    profile.events.push_back(added);
    links.event_correlations.push_back(event.correlation);
    links.event_externals.push_back(no_link);
}

std::int32_t xla_device(std::string_view process) {
    constexpr std::string_view mark = "/device:";
    const std::size_t at = process.find(mark);
    if (at == std::string_view::npos) return -1;
    process.remove_prefix(at + mark.size());
    const std::size_t digit = process.find_first_of("0123456789");
    if (digit == std::string_view::npos) return 0;
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(process.data() + digit, process.data() + process.size(), number);
    return error == std::errc{} ? number : 0;
}

}  // namespace roofline::core
