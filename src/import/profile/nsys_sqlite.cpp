#include "import/profile/nsys_sqlite.hpp"

#include <fmt/format.h>

#ifdef ROOFLINE_HAVE_SQLITE
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "import/profile/communication_names.hpp"
#include "import/profile/join_calls.hpp"
#include "import/profile/public_text.hpp"
#include "import/profile/rocpd_sqlite.hpp"
#include "import/profile/sqlite_file.hpp"
#include "import/profile/xla_lines.hpp"
#endif

namespace roofline::core {

bool is_sqlite(std::string_view text) { return text.starts_with(std::string_view("SQLite format 3\0", 16)); }

#ifndef ROOFLINE_HAVE_SQLITE

Result<RecordedProfile> read_nsys_sqlite(std::string_view, const std::string& name) {
    return fail("no_sqlite", fmt::format("{}: this program was built without SQLite", name),
                "install libsqlite3-dev and build again, or export the report as JSON of Chrome's format");
}

#else

namespace {

class NsysReader {
public:
    explicit NsysReader(const SqliteFile& file) : file_(file) {
        profile_.name = file.name();
        profile_.tool = "Nsight Systems";
    }

    Result<RecordedProfile> run() {
        if (!file_.has("StringIds")) {
            return fail(
                "bad_profile",
                fmt::format("{} is a database, but neither of Nsight Systems nor of rocprofv3", profile_.name),
                "export the report: nsys export --type sqlite report.nsys-rep; rocprofv3 --output-format rocpd");
        }
        ROOFLINE_CHECK(read_devices());
        ROOFLINE_CHECK(read_launches());
        ROOFLINE_CHECK(read_ranges());
        ROOFLINE_CHECK(read_kernels());
        ROOFLINE_CHECK(read_copies());
        if (profile_.events.empty()) {
            return fail("no_kernels", fmt::format("{}: no device does anything in this report", profile_.name),
                        "record with --trace=cuda,nvtx");
        }
        if (left_out_ > 0) {
            profile_.notes.push_back(fmt::format("{} events that end before they begin are left out", left_out_));
        }
        join_calls(profile_, links_);
        std::sort(profile_.events.begin(), profile_.events.end(), [](const DeviceEvent& a, const DeviceEvent& b) {
            return std::tuple(a.start_ns, a.duration_ns, a.device, a.stream, a.name) <
                   std::tuple(b.start_ns, b.duration_ns, b.device, b.stream, b.name);
        });
        return std::move(profile_);
    }

private:
    Status read_devices() {
        if (!file_.has("TARGET_INFO_GPU") || !file_.has("TARGET_INFO_GPU", "name")) return {};
        SqliteQuery rows(file_, "SELECT name FROM TARGET_INFO_GPU");
        while (rows.next()) profile_.devices.emplace_back(rows.text(0));
        if (rows.failed()) return file_.damaged();
        return {};
    }

    // Whether start and end are those of an event; counts those that are not.
    bool sound(std::int64_t start, std::int64_t end) {
        constexpr std::int64_t most = std::int64_t{1} << 62;
        const bool right = start >= 0 && end >= start && end < most;
        left_out_ += right ? 0U : 1U;
        return right;
    }

    std::uint32_t thread_of(std::int64_t id) { return profile_.texts.add(fmt::format("thread {}", id)); }

    Status read_launches() {
        constexpr const char* table = "CUPTI_ACTIVITY_KIND_RUNTIME";
        if (!file_.has(table)) return {};
        SqliteQuery rows(file_, fmt::format("SELECT start, end, globalTid, correlationId FROM {}", table));
        while (rows.next()) {
            if (!rows.has(3) || !sound(rows.whole(0), rows.whole(1))) continue;
            links_.launches.emplace_back(rows.whole(3), static_cast<std::uint32_t>(profile_.launches.size()));
            profile_.launches.push_back({rows.whole(0), rows.whole(1) - rows.whole(0), thread_of(rows.whole(2))});
        }
        if (rows.failed()) return file_.damaged();
        return {};
    }

    // "aten::mm, seq = 12, sizes = [[2, 3], [3, 4]]" of emit_nvtx() has the shapes of the inputs.
    Status read_ranges() {
        constexpr const char* table = "NVTX_EVENTS";
        if (!file_.has(table) || !file_.has(table, "text")) return {};
        const bool ids = file_.has(table, "textId");
        SqliteQuery rows(file_,
                         fmt::format("SELECT n.start, n.end, n.globalTid, {} FROM {} n {} WHERE n.end IS NOT NULL "
                                     "ORDER BY n.start",
                                     ids ? "coalesce(n.text, s.value)" : "n.text", table,
                                     ids ? "LEFT JOIN StringIds s ON s.id = n.textId" : ""));
        while (rows.next()) {
            const std::string_view text = rows.text(3);
            if (text.empty() || !sound(rows.whole(0), rows.whole(1))) continue;
            const std::int64_t duration = rows.whole(1) - rows.whole(0);
            const std::string name = without_paths(text.substr(0, text.find(',')));
            profile_.annotations.push_back({rows.whole(0), duration, profile_.texts.add(name), false, 0});
            std::uint32_t shapes = no_index;
            constexpr std::string_view sizes = "sizes = ";
            if (const std::size_t at = text.find(sizes); at != std::string_view::npos) {
                const std::string_view from = text.substr(at + sizes.size());
                const std::size_t end = from.find("]]");
                if (end != std::string_view::npos) shapes = profile_.texts.add(from.substr(0, end + 2));
            }
            profile_.calls.push_back({rows.whole(0), duration, profile_.texts.add(name), thread_of(rows.whole(2)),
                                      shapes, no_index, no_index});
        }
        if (rows.failed()) return file_.damaged();
        return {};
    }

    void add_event(const SqliteQuery& rows, std::uint32_t name, DeviceWork work, std::int64_t bytes) {
        if (!sound(rows.whole(0), rows.whole(1))) return;
        DeviceEvent event;
        event.start_ns = rows.whole(0);
        event.duration_ns = rows.whole(1) - rows.whole(0);
        event.device = static_cast<std::int32_t>(rows.whole(2));
        event.stream = static_cast<std::int32_t>(rows.whole(3));
        event.name = name;
        event.work = work;
        event.bytes = std::max<std::int64_t>(0, bytes);
        if (work == DeviceWork::collective) {
            EventDetail detail;
            detail.collective = collective_in_name(profile_.text(name));
            event.detail = details_.add(profile_, detail);
        }
        profile_.events.push_back(event);
        links_.event_correlations.push_back(rows.has(4) ? rows.whole(4) : no_link);
        links_.event_externals.push_back(no_link);
    }

    Status read_kernels() {
        constexpr const char* table = "CUPTI_ACTIVITY_KIND_KERNEL";
        if (!file_.has(table)) return {};
        const char* const name = file_.has(table, "demangledName") ? "demangledName" : "shortName";
        SqliteQuery rows(
            file_, fmt::format("SELECT k.start, k.end, k.deviceId, k.streamId, k.correlationId, s.value FROM {} k "
                               "LEFT JOIN StringIds s ON s.id = k.{}",
                               table, name));
        while (rows.next()) {
            const std::string_view kernel = rows.has(5) ? rows.text(5) : "unnamed kernel";
            add_event(rows, profile_.texts.add(kernel),
                      is_communication_kernel(kernel) ? DeviceWork::collective : DeviceWork::kernel, 0);
        }
        if (rows.failed()) return file_.damaged();
        return {};
    }

    Status read_copies() {
        if (file_.has("CUPTI_ACTIVITY_KIND_MEMCPY")) {
            SqliteQuery rows(file_,
                             "SELECT start, end, deviceId, streamId, correlationId, bytes, copyKind FROM "
                             "CUPTI_ACTIVITY_KIND_MEMCPY");
            while (rows.next()) {
                const std::int64_t kind = rows.whole(6);  // of CUPTI's enum of copies
                const std::string_view name = kind == 1    ? "Memcpy HtoD"
                                              : kind == 2  ? "Memcpy DtoH"
                                              : kind == 8  ? "Memcpy DtoD"
                                              : kind == 10 ? "Memcpy PtoP"
                                                           : "Memcpy";
                add_event(rows, profile_.texts.add(name), DeviceWork::copy, rows.whole(5));
            }
            if (rows.failed()) return file_.damaged();
        }
        if (file_.has("CUPTI_ACTIVITY_KIND_MEMSET")) {
            SqliteQuery rows(file_,
                             "SELECT start, end, deviceId, streamId, correlationId, bytes FROM "
                             "CUPTI_ACTIVITY_KIND_MEMSET");
            while (rows.next()) add_event(rows, profile_.texts.add("Memset"), DeviceWork::set, rows.whole(5));
            if (rows.failed()) return file_.damaged();
        }
        return {};
    }

    const SqliteFile& file_;
    RecordedProfile profile_;
    ProfileLinks links_;
    EventDetails details_;
    std::size_t left_out_ = 0;
};

}  // namespace

Result<RecordedProfile> read_nsys_sqlite(std::string_view bytes, const std::string& name) {
    ROOFLINE_TRY(const SqliteFile file, SqliteFile::open(bytes, name));
    if (is_rocpd(file)) return read_rocpd(file);
    return NsysReader(file).run();
}

#endif

}  // namespace roofline::core
