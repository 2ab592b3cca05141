#include "import/profile/xplane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "import/profile/instruction_dtype.hpp"
#include "import/profile/public_text.hpp"
#include "import/profile/xla_lines.hpp"
#include "text/protobuf.hpp"

namespace roofline::core {

namespace {

/// A value of a statistic; which statistic it is, its metadata says.
struct XplaneStat {
    std::int64_t metadata = 0;
    double number = 0;
    std::string_view text{};
    std::int64_t reference = -1;  ///< a text that is the name of other metadata
};

struct XplaneEvent {
    std::int64_t metadata = 0;
    std::int64_t offset_ps = 0;
    std::int64_t duration_ps = 0;
    std::vector<XplaneStat> stats;
};

struct XplaneLine {
    std::int64_t id = 0;
    std::string_view name;
    std::int64_t start_ns = 0;
    std::vector<XplaneEvent> events;
};

struct XplaneMetadata {
    std::string_view name;
    std::string_view display_name;
    std::vector<XplaneStat> stats;
};

struct Xplane {
    std::string_view name;
    std::vector<XplaneLine> lines;
    std::map<std::int64_t, XplaneMetadata> events;
    std::map<std::int64_t, std::string_view> stats;
};

// The numbers of fields are those of tsl/profiler/protobuf/xplane.proto.

XplaneStat read_stat(ProtoMessage stat) {
    XplaneStat made;
    while (stat.next()) {
        switch (stat.field()) {
            case 1:
                made.metadata = stat.integer();
                break;
            case 2:
                made.number = stat.double_number();
                break;
            case 3:
            case 4:
                made.number = static_cast<double>(stat.integer());
                break;
            case 5:
                made.text = stat.bytes();
                break;
            case 7:
                made.reference = stat.integer();
                break;
            default:
                break;
        }
    }
    return made;
}

XplaneEvent read_event(ProtoMessage event) {
    XplaneEvent made;
    while (event.next()) {
        switch (event.field()) {
            case 1:
                made.metadata = event.integer();
                break;
            case 2:
                made.offset_ps = event.integer();
                break;
            case 3:
                made.duration_ps = event.integer();
                break;
            case 4:
                made.stats.push_back(read_stat(event.message()));
                break;
            default:
                break;
        }
    }
    return made;
}

XplaneLine read_line(ProtoMessage line) {
    XplaneLine made;
    std::string_view display_name;
    while (line.next()) {
        switch (line.field()) {
            case 1:
                made.id = line.integer();
                break;
            case 2:
                made.name = line.bytes();
                break;
            case 3:
                made.start_ns = line.integer();
                break;
            case 4:
                made.events.push_back(read_event(line.message()));
                break;
            case 11:
                display_name = line.bytes();
                break;
            default:
                break;
        }
    }
    if (!display_name.empty()) made.name = display_name;
    return made;
}

XplaneMetadata read_event_metadata(ProtoMessage metadata) {
    XplaneMetadata made;
    while (metadata.next()) {
        switch (metadata.field()) {
            case 2:
                made.name = metadata.bytes();
                break;
            case 4:
                made.display_name = metadata.bytes();
                break;
            case 5:
                made.stats.push_back(read_stat(metadata.message()));
                break;
            default:
                break;
        }
    }
    return made;
}

std::string_view read_stat_name(ProtoMessage metadata) {
    std::string_view name;
    while (metadata.next()) {
        if (metadata.field() == 2) name = metadata.bytes();
    }
    return name;
}

/// The key and the value of an entry of a map.
template <class Value, class Read>
std::pair<std::int64_t, Value> read_map_entry(ProtoMessage entry, Read read) {
    std::pair<std::int64_t, Value> made;
    while (entry.next()) {
        if (entry.field() == 1) made.first = entry.integer();
        if (entry.field() == 2) made.second = read(entry.message());
    }
    return made;
}

Xplane read_plane(ProtoMessage plane) {
    Xplane made;
    while (plane.next()) {
        switch (plane.field()) {
            case 2:
                made.name = plane.bytes();
                break;
            case 3:
                made.lines.push_back(read_line(plane.message()));
                break;
            case 4:
                made.events.insert(read_map_entry<XplaneMetadata>(plane.message(), read_event_metadata));
                break;
            case 5:
                made.stats.insert(read_map_entry<std::string_view>(plane.message(), read_stat_name));
                break;
            default:
                break;
        }
    }
    return made;
}

class XplaneReader {
public:
    explicit XplaneReader(const std::string& name) {
        profile_.name = name;
        profile_.tool = "XLA";
    }

    void take(const Xplane& plane) {
        const std::int32_t device = xla_device(plane.name);
        if (device < 0 && !plane.name.starts_with("/host:CPU")) return;
        const bool streams = std::any_of(plane.lines.begin(), plane.lines.end(), [](const XplaneLine& line) {
            return is_stream_line(line.name) && !line.events.empty();
        });
        for (const XplaneLine& line : plane.lines) {
            if (streams && is_instruction_line(line.name)) continue;
            const auto number = static_cast<std::uint32_t>(line.id);
            for (const XplaneEvent& event : line.events) take_event(plane, line, device, number, event);
        }
    }

    Result<RecordedProfile> finish() {
        if (profile_.events.empty()) {
            return fail("no_kernels", fmt::format("{}: no instruction of XLA runs in this profile", profile_.name),
                        "record while a compiled function runs: jax.profiler.trace()");
        }
        if (left_out_ > 0) {
            profile_.notes.push_back(fmt::format("{} events without a valid time are left out", left_out_));
        }
        leave_out_enclosing(profile_, links_);
        join_calls(profile_, links_);
        std::sort(
            profile_.annotations.begin(), profile_.annotations.end(), [](const Annotation& a, const Annotation& b) {
                return std::tuple(a.start_ns, -a.duration_ns, a.name) < std::tuple(b.start_ns, -b.duration_ns, b.name);
            });
        std::sort(profile_.events.begin(), profile_.events.end(), [](const DeviceEvent& a, const DeviceEvent& b) {
            return std::tuple(a.start_ns, a.duration_ns, a.device, a.stream, a.name) <
                   std::tuple(b.start_ns, b.duration_ns, b.device, b.stream, b.name);
        });
        return std::move(profile_);
    }

private:
    void take_event(const Xplane& plane, const XplaneLine& line, std::int32_t device, std::uint32_t number,
                    const XplaneEvent& event) {
        const auto metadata = plane.events.find(event.metadata);
        if (metadata == plane.events.end()) return;
        constexpr std::int64_t most = std::int64_t{1} << 61;
        const auto outside = [](std::int64_t time) { return time < 0 || time > most; };
        if (outside(line.start_ns) || outside(event.offset_ps) || outside(event.duration_ps)) {
            ++left_out_;
            return;
        }
        XlaLineEvent added;
        added.start_ns = line.start_ns + event.offset_ps / 1000;
        added.duration_ns = (event.offset_ps + event.duration_ps) / 1000 - event.offset_ps / 1000;
        const XplaneMetadata& named = metadata->second;
        added.name = profile_.texts.add(named.display_name.empty() ? named.name : named.display_name);
        added.detail.dtype = dtype_of_operands(named.name);  // which is an instruction's text on TPUs
        for (const XplaneStat& stat : named.stats) take_stat(plane, stat, added);
        for (const XplaneStat& stat : event.stats) take_stat(plane, stat, added);
        if (step_) {  // of jax.profiler.StepTraceAnnotation
            const std::uint32_t name = profile_.texts.add(fmt::format("step {}", *step_));
            profile_.annotations.push_back({added.start_ns, added.duration_ns, name, false, 0});
            step_.reset();
        }
        if (device >= 0) {
            add_xla_event(profile_, links_, details_, device, line.name, number, added);
        } else if (added.detail.instruction != no_index) {
            // Threads of the host run instructions one after another, as a stream does.
            add_xla_event(profile_, links_, details_, 0, "XLA Ops", number, added);
        }
    }

    void take_stat(const Xplane& plane, const XplaneStat& stat, XlaLineEvent& into) {
        const auto named = plane.stats.find(stat.metadata);
        if (named == plane.stats.end()) return;
        const std::string_view name = named->second;
        std::string_view text = stat.text;
        if (stat.reference >= 0) {
            const auto referred = plane.stats.find(stat.reference);
            if (referred != plane.stats.end()) text = referred->second;
        }
        EventDetail& detail = into.detail;
        const auto put = [&](std::uint32_t& place) {
            if (!text.empty()) place = profile_.texts.add(text);
        };
        if (name == "hlo_op") put(detail.instruction);
        if (name == "hlo_module") put(detail.module);
        if (name == "hlo_category") put(detail.category);
        if (name == "source" && !text.empty()) detail.source = profile_.texts.add(public_path(text));
        if (name == "memcpy_details" || name == "memset_details") into.copied = copied_bytes(text);
        if (name == "tf_op") put(detail.scope);
        if (name == "model_flops" && stat.number > 0) detail.flops = stat.number;
        if (name == "flops" && stat.number > 0 && detail.flops < 0) detail.flops = stat.number;
        if (name == "bytes_accessed" && stat.number >= 0) detail.bytes = stat.number;
        if (name == "step_num" && plane.name.starts_with("/host:")) step_ = static_cast<std::int64_t>(stat.number);
        if (name == "correlation_id") into.correlation = static_cast<std::int64_t>(stat.number);
    }

    RecordedProfile profile_;
    ProfileLinks links_;
    EventDetails details_;
    std::optional<std::int64_t> step_;  ///< of the event that is read
    std::size_t left_out_ = 0;
};

}  // namespace

// A plane is field 1, whose byte is that of a line feed; its length and what follows are no text.
bool is_xplane(std::string_view bytes) {
    return bytes.starts_with('\x0a') && std::any_of(bytes.begin(), bytes.end(), [](char c) {
               return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t';
           });
}

Result<RecordedProfile> read_xplane(std::string_view bytes, const std::string& name) {
    ProtoFile file(bytes, name, "an XSpace proto");
    XplaneReader reader(name);
    ProtoMessage space(file);
    while (space.next()) {
        if (space.field() == 1) reader.take(read_plane(space.message()));
    }
    ROOFLINE_CHECK(file.status());
    return reader.finish();
}

}  // namespace roofline::core
