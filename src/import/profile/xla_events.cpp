#include "import/profile/xla_events.hpp"

#include <charconv>
#include <set>
#include <string>

#include "import/profile/instruction_dtype.hpp"
#include "import/profile/public_text.hpp"

namespace roofline::core {

void XlaEvents::name_process(std::uint32_t process, std::string_view name) {
    if (const std::int32_t device = xla_device(name); device >= 0) devices_[process] = device;
    // rocprof has a process for each device, "GPU0", and threads without names
    constexpr std::string_view gpu = "GPU";
    if (!name.starts_with(gpu)) return;
    std::int32_t number = 0;
    const char* const end = name.data() + name.size();
    const auto [last, error] = std::from_chars(name.data() + gpu.size(), end, number);
    if (error == std::errc{} && last == end && number >= 0) rocprof_[process] = number;
}

void XlaEvents::add(RecordedProfile& profile, const ChromeEvent& event, std::int64_t start_ns, std::int64_t duration_ns,
                    std::uint32_t process, std::uint32_t thread) {
    const ChromeArguments& arguments = event.arguments;
    const auto text = [&](std::string_view raw) { return raw.empty() ? no_index : profile.texts.add(raw); };
    XlaLineEvent added;
    added.start_ns = start_ns;
    added.duration_ns = duration_ns;
    added.name = profile.texts.add(event.name);
    added.detail.module = text(arguments.module);
    added.detail.instruction = text(arguments.instruction);
    added.detail.category = text(arguments.category);
    if (!arguments.source.empty()) added.detail.source = profile.texts.add(public_path(arguments.source));
    added.detail.scope = text(arguments.scope);
    added.detail.dtype = dtype_of_operands(arguments.long_name);
    const auto flops = arguments.model_flops ? arguments.model_flops : arguments.flops;
    const auto bytes = arguments.accessed ? arguments.accessed : arguments.raw_accessed;
    if (flops && *flops >= 0) added.detail.flops = *flops;
    if (bytes && *bytes >= 0) added.detail.bytes = *bytes;
    added.copied = copied_bytes(arguments.copy);
    added.correlation = arguments.correlation.value_or(no_link);
    events_.push_back({added, process, thread});
}

void XlaEvents::move_to(RecordedProfile& profile, ProfileLinks& links, EventDetails& details) {
    if (events_.empty()) return;
    const auto line_of = [&](const Kept& kept) {
        const auto named = thread_names_.find(kept.thread);
        return named == thread_names_.end() ? std::string() : profile.text(named->second);
    };
    std::set<std::uint32_t> with_streams;  // processes
    for (const Kept& kept : events_) {
        if (is_stream_line(line_of(kept))) with_streams.insert(kept.process);
    }
    for (const Kept& kept : events_) {
        if (const auto gpu = rocprof_.find(kept.process); gpu != rocprof_.end()) {
            of_rocprof_ = true;
            add_xla_event(profile, links, details, gpu->second, "Stream", kept.thread, kept.event);
            continue;
        }
        if (devices_.empty() && kept.event.detail.instruction != no_index) {
            add_xla_event(profile, links, details, 0, "XLA Ops", kept.thread, kept.event);
            continue;
        }
        const auto device = devices_.find(kept.process);
        const std::string line = line_of(kept);
        if (device == devices_.end() || line.empty()) continue;
        if (is_instruction_line(line) && with_streams.contains(kept.process)) continue;
        add_xla_event(profile, links, details, device->second, line, kept.thread, kept.event);
    }
    leave_out_enclosing(profile, links);
    events_.clear();
}

}  // namespace roofline::core
