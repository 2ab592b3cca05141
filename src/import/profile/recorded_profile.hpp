// What a profiler recorded while a program ran: the work of devices, and the calls of the host that launched it. The
// readers of all profilers make it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "import/profile/text_table.hpp"
#include "program/program.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

enum class DeviceWork : std::uint8_t {
    kernel,
    collective,  ///< a kernel of a communication library
    copy,        ///< by a copy engine
    set,         ///< of memory to one value
};

/// No index: of an event without a call, a launch, or a detail.
inline constexpr std::uint32_t no_index = std::numeric_limits<std::uint32_t>::max();

/// Something that a device did. Times are of the clock of the profile, in nanoseconds.
struct DeviceEvent {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::int64_t bytes = 0;         ///< of a copy or a set, of a collective its message; 0: unknown
    std::uint32_t name = 0;         ///< in RecordedProfile::texts
    std::uint32_t call = no_index;  ///< the innermost call that launched it, but for zeros of an operation (join_calls)
    std::uint32_t launch = no_index;  ///< its launch
    std::uint32_t detail = no_index;  ///< in RecordedProfile::details
    std::int32_t device = 0;
    std::int32_t stream = 0;
    DeviceWork work = DeviceWork::kernel;

    [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// What some profilers know of a kernel. Equal details are stored once.
struct EventDetail {
    std::uint32_t module = no_index;       ///< name of the module of XLA whose instruction it is
    std::uint32_t instruction = no_index;  ///< its name: "fusion.3"
    std::uint32_t category = no_index;     ///< as the profiler calls it: "convolution fusion"
    std::uint32_t source = no_index;       ///< "train.py:42"
    std::uint32_t scope = no_index;        ///< "jit(step)/layer/dot_general"
    double flops = -1;                     ///< of one execution, as the profiler counts; -1: unknown
    double bytes = -1;                     ///< likewise
    std::optional<CollectiveKind> collective{};
    std::optional<Dtype> dtype{};    ///< of a collective, or of the arrays that an instruction multiplies
    std::int64_t group = 0;          ///< its members; 0: unknown
    std::uint32_t ranks = no_index;  ///< "[0, 1]"

    bool operator==(const EventDetail&) const = default;
};

/// A call of an operation by the framework, on the host: `aten::mm`.
struct HostCall {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::uint32_t name = 0;
    std::uint32_t thread = 0;
    std::uint32_t shapes = no_index;  ///< JSON text of its inputs' shapes: "[[32,64],[64,192]]"
    std::uint32_t types = no_index;   ///< JSON text of their types: "[\"float\",\"float\"]"
    std::uint32_t values = no_index;  ///< JSON text of its scalar inputs

    [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// A call of the driver that hands work to a device.
struct Launch {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::uint32_t thread = 0;

    [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// A range of time that the user or the framework named: "ProfilerStep#12".
struct Annotation {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::uint32_t name = 0;
    bool on_device = false;
    std::int32_t device = 0;  ///< if it is on one

    [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};

struct RecordedProfile {
    std::string name;  ///< of the file
    std::string tool;  ///< "PyTorch", "JAX", "Nsight Systems"
    TextTable texts;
    std::vector<DeviceEvent> events;  ///< in the order of their starts
    std::vector<EventDetail> details;
    std::vector<HostCall> calls;
    std::vector<Launch> launches;
    std::vector<Annotation> annotations;  ///< in the order of their starts
    std::vector<std::string> devices;     ///< names of accelerators, where the file has them
    std::int64_t rank = 0;                ///< of several processes
    std::int64_t ranks = 1;
    std::vector<std::string> notes;  ///< what is incomplete

    [[nodiscard]] const std::string& text(std::uint32_t number) const { return texts[number]; }
};

}  // namespace roofline::core
