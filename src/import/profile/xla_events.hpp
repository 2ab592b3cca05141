// Events of a trace in Chrome's format that have no category: those of XLA's profiler and of rocprof. Only the names of
// their processes and threads tell which of them are of a device, and these may come later.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/profile/chrome_event.hpp"
#include "import/profile/join_calls.hpp"
#include "import/profile/recorded_profile.hpp"
#include "import/profile/xla_lines.hpp"

namespace roofline::core {

class XlaEvents {
public:
    /// Processes and threads are numbers in the texts of `profile`.
    void name_process(std::uint32_t process, std::string_view name);
    void name_thread(std::uint32_t thread, std::uint32_t name) { thread_names_[thread] = name; }

    /// Keeps an event that is whole.
    void add(RecordedProfile& profile, const ChromeEvent& event, std::int64_t start_ns, std::int64_t duration_ns,
             std::uint32_t process, std::uint32_t thread);

    /// Adds the events of devices to a profile. A CPU has no process of its own: there the threads on which
    /// instructions ran are the device, each of which runs one after another, as a stream does.
    void move_to(RecordedProfile& profile, ProfileLinks& links, EventDetails& details);
    /// Whether some of them were of rocprof.
    [[nodiscard]] bool of_rocprof() const { return of_rocprof_; }

private:
    struct Kept {
        XlaLineEvent event;
        std::uint32_t process;
        std::uint32_t thread;
    };

    std::unordered_map<std::uint32_t, std::int32_t> devices_;  ///< by process
    std::unordered_map<std::uint32_t, std::int32_t> rocprof_;  ///< likewise
    std::unordered_map<std::uint32_t, std::uint32_t> thread_names_;
    std::vector<Kept> events_;
    bool of_rocprof_ = false;
};

}  // namespace roofline::core
