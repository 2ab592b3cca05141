#include "import/profile/xla_lines.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "base/ascii.hpp"
#include "import/profile/communication_names.hpp"

namespace roofline::core {

namespace {

/// "memcpyh2d" is called as other profilers call it.
std::string_view copy_of_xla(std::string_view kind) {
    if (kind.starts_with("memset")) return "Memset";
    if (kind.find("h2d") != std::string_view::npos) return "Memcpy HtoD";
    if (kind.find("d2h") != std::string_view::npos) return "Memcpy DtoH";
    if (kind.find("d2d") != std::string_view::npos) return "Memcpy DtoD";
    if (kind.find("p2p") != std::string_view::npos) return "Memcpy PtoP";
    return "Memcpy";
}

bool is_control_flow(const RecordedProfile& profile, const DeviceEvent& event) {
    if (event.detail == no_index) return false;
    const EventDetail& detail = profile.details[event.detail];
    if (detail.instruction == no_index) return false;
    std::string_view name = profile.text(detail.instruction);
    if (name.starts_with('%')) name.remove_prefix(1);
    constexpr std::string_view opcodes[] = {"while", "conditional", "call"};
    return std::any_of(std::begin(opcodes), std::end(opcodes), [&](std::string_view opcode) {
        return name.starts_with(opcode) && (name.size() == opcode.size() || name[opcode.size()] == '.');
    });
}

}  // namespace

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
    const bool instructions = is_instruction_line(line);
    if (!instructions && !is_stream_line(line)) return;
    DeviceEvent added;
    added.start_ns = event.start_ns;
    added.duration_ns = event.duration_ns;
    added.name = event.name;
    added.device = device;
    added.stream = static_cast<std::int32_t>(number);
    EventDetail detail = event.detail;
    const std::string name = profile.text(event.name);
    const std::string kind = lowered(name);
    if (kind.starts_with("memcpy")) added.work = DeviceWork::copy;
    if (kind.starts_with("memset")) added.work = DeviceWork::set;
    if (added.work != DeviceWork::kernel) {
        added.name = profile.texts.add(copy_of_xla(kind));
        added.bytes = event.copied;
    }
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

bool is_stream_line(std::string_view line) { return line.starts_with("Stream"); }

bool is_instruction_line(std::string_view line) { return line.ends_with("XLA Ops"); }  // "Async XLA Ops", too

std::int64_t copied_bytes(std::string_view details) {
    for (const std::string_view key : {std::string_view("size:"), std::string_view("num_bytes:")}) {
        const std::size_t at = details.find(key);
        if (at == std::string_view::npos) continue;
        std::int64_t bytes = 0;
        const std::string_view digits = details.substr(at + key.size());
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
        return error == std::errc{} && bytes > 0 ? bytes : 0;
    }
    return 0;
}

void leave_out_enclosing(RecordedProfile& profile, ProfileLinks& links) {
    auto& events = profile.events;
    std::vector<std::uint32_t> order(events.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const auto key = [&](std::uint32_t i) {
            const DeviceEvent& event = events[i];
            return std::tuple(event.device, event.stream, event.start_ns, -event.duration_ns, i);
        };
        return key(a) < key(b);
    });
    std::vector<bool> encloses(events.size(), false);
    std::vector<std::uint32_t> open;  // of a stream, the innermost last
    for (const std::uint32_t index : order) {
        const DeviceEvent& event = events[index];
        while (!open.empty()) {
            const DeviceEvent& outer = events[open.back()];
            const bool same = outer.device == event.device && outer.stream == event.stream;
            if (same && event.end_ns() <= outer.end_ns()) break;
            open.pop_back();
        }
        if (!open.empty()) encloses[open.back()] = true;
        if (is_control_flow(profile, event)) open.push_back(index);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (encloses[i]) continue;
        events[kept] = events[i];
        links.event_correlations[kept] = links.event_correlations[i];
        links.event_externals[kept] = links.event_externals[i];
        ++kept;
    }
    events.resize(kept);
    links.event_correlations.resize(kept);
    links.event_externals.resize(kept);
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
