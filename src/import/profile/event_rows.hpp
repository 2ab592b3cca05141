// What devices did, from tables that have a row for each event: the CSV, JSON and databases of several profilers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "import/profile/join_calls.hpp"
#include "import/profile/recorded_profile.hpp"
#include "import/profile/xla_lines.hpp"

namespace roofline::core {

struct EventRow {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::string_view name{};
    std::int64_t device = 0;  ///< as the profiler numbers them
    std::int64_t stream = 0;
    DeviceWork work = DeviceWork::kernel;
    std::int64_t bytes = 0;
    std::int64_t correlation = no_link;  ///< of the launch
};

/// The name of a copy between the host and devices, as all readers call it.
[[nodiscard]] std::string_view copy_name(bool from_device, bool to_device, bool same_device);
/// A stream for copies of a profiler that does not number them.
inline constexpr std::int64_t copy_stream = -1;

/// Collects rows, and says what was wrong with them.
class EventRows {
public:
    EventRows(const std::string& name, std::string tool);

    /// Adds an event. One that ends before it begins, or is outside of what a clock can say, is left out and counted.
    /// Kernels of communication libraries become collectives.
    void add(const EventRow& row);
    /// Adds the call that launched events of the same correlation; `thread` tells threads apart.
    void add_launch(std::int64_t start_ns, std::int64_t end_ns, std::int64_t correlation, std::int64_t thread);
    /// Adds a range that the user named.
    void add_range(std::int64_t start_ns, std::int64_t end_ns, std::string_view name);
    /// Names a device by its number in rows.
    void name_device(std::int64_t device, std::string_view name);
    void note(std::string text) { profile_.notes.push_back(std::move(text)); }

    /// Whether more events would be too many.
    [[nodiscard]] bool full() const;
    [[nodiscard]] tl::unexpected<Error> too_many() const;

    /// The profile: events in order, joined with their launches. Devices are numbered from 0 in the order of their
    /// numbers, and streams as they come. An event that stands twice in the file, as if it were joined of two that
    /// overlap, counts once. Error: `no_kernels`, with `remedy`.
    [[nodiscard]] Result<RecordedProfile> finish(std::string_view remedy);

private:
    [[nodiscard]] bool sound(std::int64_t start_ns, std::int64_t end_ns);
    void number_devices();
    void leave_out_twice();

    RecordedProfile profile_;
    ProfileLinks links_;
    EventDetails details_;
    std::map<std::int64_t, std::int32_t> devices_;  ///< the places of their numbers
    std::map<std::int64_t, std::string> device_names_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> streams_;  ///< of devices
    std::map<std::int64_t, std::uint32_t> threads_;
    std::vector<std::int64_t> event_devices_;
    std::size_t left_out_ = 0;
};

}  // namespace roofline::core
