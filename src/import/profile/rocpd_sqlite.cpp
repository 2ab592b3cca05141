#include "import/profile/rocpd_sqlite.hpp"

#ifdef ROOFLINE_HAVE_SQLITE

#include <string>
#include <string_view>

#include "import/profile/event_rows.hpp"
#include "text/json.hpp"

namespace roofline::core {

namespace {

// The names of tables and columns are those of rocprofiler-sdk's rocpd_tables.sql.

class RocpdReader {
public:
    explicit RocpdReader(const SqliteFile& file) : file_(file), rows_(file.name(), "rocprofv3") {}

    Result<RecordedProfile> run() {
        ROOFLINE_CHECK(read_agents());
        ROOFLINE_CHECK(read_kernels());
        ROOFLINE_CHECK(read_rocpd_copies());
        ROOFLINE_CHECK(read_regions());
        return rows_.finish("record with rocprofv3 --kernel-trace --memory-copy-trace --hip-trace --marker-trace");
    }

private:
    Status read_agents() {
        if (!file_.has("rocpd_info_agent")) return {};
        SqliteQuery rows(file_,
                         "SELECT id, coalesce(nullif(product_name, ''), nullif(model_name, ''), name) "
                         "FROM rocpd_info_agent WHERE type = 'GPU'");
        while (rows.next()) rows_.name_device(rows.whole(0), rows.text(1));
        if (rows.failed()) return file_.damaged();
        return {};
    }

    Status read_kernels() {
        SqliteQuery rows(file_,
                         "SELECT k.start, k.\"end\", k.agent_id, k.queue_id, e.stack_id, s.display_name "
                         "FROM rocpd_kernel_dispatch k "
                         "LEFT JOIN rocpd_info_kernel_symbol s ON s.id = k.kernel_id AND s.guid = k.guid "
                         "LEFT JOIN rocpd_event e ON e.id = k.event_id AND e.guid = k.guid");
        while (rows.next()) {
            if (rows_.full()) return rows_.too_many();
            EventRow row;
            row.start_ns = rows.whole(0);
            row.end_ns = rows.whole(1);
            row.device = rows.whole(2);
            row.stream = rows.whole(3);
            row.correlation = rows.has(4) ? rows.whole(4) : no_link;
            row.name = rows.text(5);
            rows_.add(row);
        }
        if (rows.failed()) return file_.damaged();
        return {};
    }

    Status read_rocpd_copies() {
        if (!file_.has("rocpd_memory_copy")) return {};
        SqliteQuery rows(
            file_,
            "SELECT m.start, m.\"end\", m.src_agent_id, m.dst_agent_id, m.size, e.stack_id, a.type, b.type "
            "FROM rocpd_memory_copy m "
            "LEFT JOIN rocpd_info_agent a ON a.id = m.src_agent_id AND a.guid = m.guid "
            "LEFT JOIN rocpd_info_agent b ON b.id = m.dst_agent_id AND b.guid = m.guid "
            "LEFT JOIN rocpd_event e ON e.id = m.event_id AND e.guid = m.guid");
        while (rows.next()) {
            if (rows_.full()) return rows_.too_many();
            const bool from_device = rows.text(6) == "GPU";
            const bool to_device = rows.text(7) == "GPU";
            EventRow row;
            row.start_ns = rows.whole(0);
            row.end_ns = rows.whole(1);
            row.device = to_device ? rows.whole(3) : rows.whole(2);
            row.stream = copy_stream;
            row.bytes = rows.whole(4);
            row.correlation = rows.has(5) ? rows.whole(5) : no_link;
            row.work = DeviceWork::copy;
            row.name = copy_name(from_device, to_device, rows.whole(2) == rows.whole(3));
            rows_.add(row);
        }
        if (rows.failed()) return file_.damaged();
        return {};
    }

    // Calls of the host, and ranges of rocTX, whose text is a message.
    Status read_regions() {
        if (!file_.has("rocpd_region") || !file_.has("rocpd_event") || !file_.has("rocpd_string")) return {};
        SqliteQuery rows(
            file_,
            "SELECT r.start, r.\"end\", r.tid, e.stack_id, c.string, n.string, e.extdata FROM rocpd_region r "
            "JOIN rocpd_event e ON e.id = r.event_id AND e.guid = r.guid "
            "LEFT JOIN rocpd_string c ON c.id = e.category_id AND c.guid = e.guid "
            "LEFT JOIN rocpd_string n ON n.id = r.name_id AND n.guid = r.guid");
        while (rows.next()) {
            if (rows_.full()) return rows_.too_many();
            const std::string_view category = rows.text(4);
            if (category.starts_with("MARKER")) {
                rows_.add_range(rows.whole(0), rows.whole(1), message_in(rows.text(6), rows.text(5)));
            } else if (category.starts_with("HIP")) {
                rows_.add_launch(rows.whole(0), rows.whole(1), rows.has(3) ? rows.whole(3) : no_link, rows.whole(2));
            }
        }
        if (rows.failed()) return file_.damaged();
        return {};
    }

    std::string_view message_in(std::string_view extra, std::string_view name) {
        const auto value = parse_json(extra, file_.name());
        const FileValue* const message = value ? value->find("message") : nullptr;
        if (message == nullptr || message->text.empty()) return name;
        message_ = message->text;
        return message_;
    }

    const SqliteFile& file_;
    EventRows rows_;
    std::string message_;
};

}  // namespace

bool is_rocpd(const SqliteFile& file) { return file.has("rocpd_kernel_dispatch"); }

Result<RecordedProfile> read_rocpd(const SqliteFile& file) { return RocpdReader(file).run(); }

}  // namespace roofline::core

#endif
