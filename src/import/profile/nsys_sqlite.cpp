#include "import/profile/nsys_sqlite.hpp"

#include <fmt/format.h>

#ifdef ROOFLINE_HAVE_SQLITE
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "import/profile/communication_names.hpp"
#include "import/profile/join_calls.hpp"
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

constexpr std::int64_t most_rows = 50'000'000;

struct CloseDatabase {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

/// A query whose rows are gone through once.
class NsysQuery {
public:
    NsysQuery(sqlite3* database, const std::string& text) {
        failed_ = sqlite3_prepare_v2(database, text.c_str(), -1, &statement_, nullptr) != SQLITE_OK;
    }
    ~NsysQuery() { sqlite3_finalize(statement_); }
    NsysQuery(const NsysQuery&) = delete;
    NsysQuery& operator=(const NsysQuery&) = delete;

    bool next() {
        if (failed_) return false;
        const int state = sqlite3_step(statement_);
        failed_ = state != SQLITE_ROW && state != SQLITE_DONE;
        return state == SQLITE_ROW && ++rows_ <= most_rows;
    }
    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] bool has(int column) const { return sqlite3_column_type(statement_, column) != SQLITE_NULL; }
    [[nodiscard]] std::int64_t whole(int column) const { return sqlite3_column_int64(statement_, column); }
    [[nodiscard]] std::string_view text(int column) const {
        const auto* const characters = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
        if (characters == nullptr) return {};
        return {characters, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
    }

private:
    sqlite3_stmt* statement_ = nullptr;
    bool failed_ = false;
    std::int64_t rows_ = 0;
};

class NsysReader {
public:
    NsysReader(Database database, const std::string& name) : database_(std::move(database)) {
        profile_.name = name;
        profile_.tool = "Nsight Systems";
    }

    Result<RecordedProfile> run() {
        {
            NsysQuery tables(database_.get(), "SELECT name FROM sqlite_master WHERE type = 'table'");
            while (tables.next()) tables_.emplace(tables.text(0));
            if (tables.failed()) return damaged();
        }
        if (!tables_.contains("StringIds")) {
            return fail("bad_profile", fmt::format("{} is a database, but none of Nsight Systems", profile_.name),
                        "export the report: nsys export --type sqlite report.nsys-rep");
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
    [[nodiscard]] tl::unexpected<Error> damaged() const {
        return fail("bad_profile",
                    fmt::format("{}: the database cannot be read: {}", profile_.name, sqlite3_errmsg(database_.get())),
                    "the file may be damaged: export the report again");
    }

    [[nodiscard]] bool has_column(std::string_view table, std::string_view column) const {
        NsysQuery columns(database_.get(), fmt::format("PRAGMA table_info({})", table));
        while (columns.next()) {
            if (columns.text(1) == column) return true;
        }
        return false;
    }

    Status read_devices() {
        if (!tables_.contains("TARGET_INFO_GPU") || !has_column("TARGET_INFO_GPU", "name")) return {};
        NsysQuery rows(database_.get(), "SELECT name FROM TARGET_INFO_GPU");
        while (rows.next()) profile_.devices.emplace_back(rows.text(0));
        if (rows.failed()) return damaged();
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
        if (!tables_.contains(table)) return {};
        NsysQuery rows(database_.get(), fmt::format("SELECT start, end, globalTid, correlationId FROM {}", table));
        while (rows.next()) {
            if (!rows.has(3) || !sound(rows.whole(0), rows.whole(1))) continue;
            links_.launches.emplace_back(rows.whole(3), static_cast<std::uint32_t>(profile_.launches.size()));
            profile_.launches.push_back({rows.whole(0), rows.whole(1) - rows.whole(0), thread_of(rows.whole(2))});
        }
        if (rows.failed()) return damaged();
        return {};
    }

    // "aten::mm, seq = 12, sizes = [[2, 3], [3, 4]]" of emit_nvtx() has the shapes of the inputs.
    Status read_ranges() {
        constexpr const char* table = "NVTX_EVENTS";
        if (!tables_.contains(table) || !has_column(table, "text")) return {};
        const bool ids = has_column(table, "textId");
        NsysQuery rows(database_.get(),
                       fmt::format("SELECT n.start, n.end, n.globalTid, {} FROM {} n {} WHERE n.end IS NOT NULL "
                                   "ORDER BY n.start",
                                   ids ? "coalesce(n.text, s.value)" : "n.text", table,
                                   ids ? "LEFT JOIN StringIds s ON s.id = n.textId" : ""));
        while (rows.next()) {
            const std::string_view text = rows.text(3);
            if (text.empty() || !sound(rows.whole(0), rows.whole(1))) continue;
            const std::int64_t duration = rows.whole(1) - rows.whole(0);
            const std::string_view name = text.substr(0, text.find(','));
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
        if (rows.failed()) return damaged();
        return {};
    }

    void add_event(const NsysQuery& rows, std::uint32_t name, DeviceWork work, std::int64_t bytes) {
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
        if (!tables_.contains(table)) return {};
        const char* const name = has_column(table, "demangledName") ? "demangledName" : "shortName";
        NsysQuery rows(database_.get(),
                       fmt::format("SELECT k.start, k.end, k.deviceId, k.streamId, k.correlationId, s.value FROM {} k "
                                   "LEFT JOIN StringIds s ON s.id = k.{}",
                                   table, name));
        while (rows.next()) {
            const std::string_view kernel = rows.has(5) ? rows.text(5) : "unnamed kernel";
            add_event(rows, profile_.texts.add(kernel),
                      is_communication_kernel(kernel) ? DeviceWork::collective : DeviceWork::kernel, 0);
        }
        if (rows.failed()) return damaged();
        return {};
    }

    Status read_copies() {
        if (tables_.contains("CUPTI_ACTIVITY_KIND_MEMCPY")) {
            NsysQuery rows(database_.get(),
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
            if (rows.failed()) return damaged();
        }
        if (tables_.contains("CUPTI_ACTIVITY_KIND_MEMSET")) {
            NsysQuery rows(database_.get(),
                           "SELECT start, end, deviceId, streamId, correlationId, bytes FROM "
                           "CUPTI_ACTIVITY_KIND_MEMSET");
            while (rows.next()) add_event(rows, profile_.texts.add("Memset"), DeviceWork::set, rows.whole(5));
            if (rows.failed()) return damaged();
        }
        return {};
    }

    Database database_;
    RecordedProfile profile_;
    ProfileLinks links_;
    EventDetails details_;
    std::set<std::string, std::less<>> tables_;
    std::size_t left_out_ = 0;
};

// A database may hold views and triggers that never end.
int give_up(void* steps) { return ++*static_cast<int*>(steps) > 10'000 ? 1 : 0; }

}  // namespace

Result<RecordedProfile> read_nsys_sqlite(std::string_view bytes, const std::string& name) {
    sqlite3* opened = nullptr;
    const int state = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    Database database(opened);
    if (state != SQLITE_OK) return fail("bad_profile", fmt::format("{}: SQLite cannot be started", name));
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    constexpr int longest_text = 1'000'000;
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, longest_text);
    int steps = 0;
    constexpr int instructions = 1'000'000;  // of SQLite's machine between two calls
    sqlite3_progress_handler(opened, instructions, give_up, &steps);
    // SQLite reads the bytes and does not write to them, which its type does not say.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    if (sqlite3_deserialize(opened, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
        return fail("bad_profile", fmt::format("{}: the database cannot be read", name),
                    "the file may be damaged: export the report again");
    }
    return NsysReader(std::move(database), name).run();
}

#endif

}  // namespace roofline::core
