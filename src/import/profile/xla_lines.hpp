// Events of XLA's profiler, which traces of Chrome's format and XSpace protos have alike: a device has lines, of whole
// steps, of modules, of names, and those on which its instructions run.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>

#include "import/profile/join_calls.hpp"
#include "import/profile/recorded_profile.hpp"

namespace roofline::core {

/// Stores equal details once.
class EventDetails {
public:
    std::uint32_t add(RecordedProfile& profile, const EventDetail& detail);

private:
    std::map<std::array<double, 11>, std::uint32_t> numbers_;
};

/// One event of a line.
struct XlaLineEvent {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::uint32_t name = 0;
    EventDetail detail{};
    std::int64_t correlation = no_link;
    std::int64_t copied = 0;  ///< bytes, of a copy or a set
};

/// Adds an event of a device: whole steps and modules become annotations, instructions, copies and collectives events;
/// events of other lines are left out. `number` tells lines apart.
void add_xla_event(RecordedProfile& profile, ProfileLinks& links, EventDetails& details, std::int32_t device,
                   std::string_view line, std::uint32_t number, const XlaLineEvent& event);

/// The bytes in what XLA says of a copy: "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"; 0 if there are
/// none.
[[nodiscard]] std::int64_t copied_bytes(std::string_view details);

/// Whether a line has kernels of a GPU. Of these the profiler derives a line of instructions, which would count twice.
[[nodiscard]] bool is_stream_line(std::string_view line);
[[nodiscard]] bool is_instruction_line(std::string_view line);

/// Leaves out loops, conditionals and calls that enclose other events of their stream: their time is that of the
/// instructions inside of them. `links` has a number for each event.
void leave_out_enclosing(RecordedProfile& profile, ProfileLinks& links);

/// The number in "/device:TPU:1"; -1 if it is no device.
[[nodiscard]] std::int32_t xla_device(std::string_view process);

}  // namespace roofline::core
