#include <doctest/doctest.h>

#ifdef ROOFLINE_HAVE_SQLITE

#include <sqlite3.h>

#include <memory>
#include <string>

#include "import/profile/nsys_sqlite.hpp"

using namespace roofline::core;

namespace {

/// The bytes of a database that these statements make.
std::string database_of(const char* statements) {
    sqlite3* opened = nullptr;
    REQUIRE(sqlite3_open(":memory:", &opened) == SQLITE_OK);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(opened, sqlite3_close);
    char* message = nullptr;
    const int state = sqlite3_exec(opened, statements, nullptr, nullptr, &message);
    INFO((message == nullptr ? "" : message));
    REQUIRE(state == SQLITE_OK);
    sqlite3_int64 size = 0;
    unsigned char* const bytes = sqlite3_serialize(opened, "main", &size, 0);
    REQUIRE(bytes != nullptr);
    std::string made(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    sqlite3_free(bytes);
    return made;
}

// The tables of rocprofiler-sdk have the identifier of the run in their names; views have the names without it.
constexpr const char* tables = R"sql(
CREATE TABLE rocpd_string_a1 (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
CREATE TABLE rocpd_info_agent_a1 (id INTEGER PRIMARY KEY, guid TEXT, type TEXT, absolute_index INT, name TEXT,
  model_name TEXT, product_name TEXT);
CREATE TABLE rocpd_info_kernel_symbol_a1 (id INTEGER PRIMARY KEY, guid TEXT, kernel_name TEXT, display_name TEXT);
CREATE TABLE rocpd_event_a1 (id INTEGER PRIMARY KEY, guid TEXT, category_id INT, stack_id INT, extdata TEXT);
CREATE TABLE rocpd_region_a1 (id INTEGER PRIMARY KEY, guid TEXT, tid INT, start BIGINT, "end" BIGINT, name_id INT,
  event_id INT);
CREATE TABLE rocpd_kernel_dispatch_a1 (id INTEGER PRIMARY KEY, guid TEXT, agent_id INT, kernel_id INT, queue_id INT,
  start BIGINT, "end" BIGINT, event_id INT);
CREATE TABLE rocpd_memory_copy_a1 (id INTEGER PRIMARY KEY, guid TEXT, start BIGINT, "end" BIGINT, src_agent_id INT,
  dst_agent_id INT, size INT, event_id INT);
CREATE TABLE rocpd_info_node_a1 (id INTEGER PRIMARY KEY, hostname TEXT);
CREATE VIEW rocpd_string AS SELECT * FROM rocpd_string_a1;
CREATE VIEW rocpd_info_agent AS SELECT * FROM rocpd_info_agent_a1;
CREATE VIEW rocpd_info_kernel_symbol AS SELECT * FROM rocpd_info_kernel_symbol_a1;
CREATE VIEW rocpd_event AS SELECT * FROM rocpd_event_a1;
CREATE VIEW rocpd_region AS SELECT * FROM rocpd_region_a1;
CREATE VIEW rocpd_kernel_dispatch AS SELECT * FROM rocpd_kernel_dispatch_a1;
CREATE VIEW rocpd_memory_copy AS SELECT * FROM rocpd_memory_copy_a1;
)sql";

constexpr const char* contents = R"sql(
INSERT INTO rocpd_info_node_a1 VALUES (1, 'alices-host');
INSERT INTO rocpd_string_a1 VALUES (1, 'g', 'HIP_RUNTIME_API'), (2, 'g', 'hipLaunchKernel'), (3, 'g', 'KERNEL_DISPATCH'),
  (4, 'g', 'MARKER_CORE_RANGE_API'), (5, 'g', 'roctxThreadRangeA');
INSERT INTO rocpd_info_agent_a1 VALUES (1, 'g', 'CPU', 0, 'cpu', '', ''), (2, 'g', 'GPU', 4, 'gfx942', '', 'MI300X');
INSERT INTO rocpd_info_kernel_symbol_a1 VALUES (7, 'g', '_Zgemm.kd', 'gemm(float*, int)');
INSERT INTO rocpd_event_a1 VALUES (1, 'g', 1, 11, '{}'), (2, 'g', 3, 11, '{}'), (3, 'g', 3, 12, '{}'),
  (4, 'g', 4, 13, '{"message": "step 3"}');
INSERT INTO rocpd_region_a1 VALUES (1, 'g', 5, 1000, 1500, 2, 1), (2, 'g', 5, 900, 9000, 5, 4);
INSERT INTO rocpd_kernel_dispatch_a1 VALUES (1, 'g', 2, 7, 1, 2000, 5000, 2), (2, 'g', 2, 8, 1, 7000, 6000, 3);
INSERT INTO rocpd_memory_copy_a1 VALUES (1, 'g', 100, 300, 1, 2, 4096, 3);
)sql";

}  // namespace

TEST_CASE("rocpd: kernels, copies, launches and ranges") {
    const std::string bytes = database_of((std::string(tables) + contents).c_str());
    const auto profile = read_nsys_sqlite(bytes, "results.db");
    REQUIRE(profile);
    CHECK(profile->tool == "rocprofv3");
    REQUIRE(profile->events.size() == 2);
    const DeviceEvent& copy = profile->events[0];
    CHECK(copy.work == DeviceWork::copy);
    CHECK(copy.bytes == 4096);
    CHECK(profile->text(copy.name) == "Memcpy HtoD");
    const DeviceEvent& kernel = profile->events[1];
    CHECK(profile->text(kernel.name) == "gemm(float*, int)");
    CHECK(kernel.duration_ns == 3000);
    CHECK(kernel.device == copy.device);
    REQUIRE(kernel.launch != no_index);
    CHECK(profile->launches[kernel.launch].start_ns == 1000);
    REQUIRE(profile->annotations.size() == 1);
    CHECK(profile->text(profile->annotations[0].name) == "step 3");
    REQUIRE(profile->devices.size() == 1);
    CHECK(profile->devices[0] == "MI300X");
    REQUIRE(profile->notes.size() == 1);  // the kernel that ends before it begins
    for (std::size_t i = 0; i < profile->texts.size(); ++i) {
        CHECK(profile->texts[static_cast<std::uint32_t>(i)].find("alice") == std::string::npos);
    }
    for (std::size_t size = 100; size < bytes.size(); size += 4000) {  // a part is no database, or has fewer rows
        const auto part = read_nsys_sqlite(std::string_view(bytes).substr(0, size), "part");
        CHECK((!part || part->events.size() <= 2));
    }
}

TEST_CASE("rocpd: databases of other tables and endless views are refused") {
    const auto code = [](const std::string& bytes) {
        const auto profile = read_nsys_sqlite(bytes, "x.db");
        return profile ? "" : profile.error().code;
    };
    CHECK(code(database_of(tables)) == "no_kernels");
    CHECK(code(database_of("CREATE TABLE t (a); INSERT INTO t VALUES (1)")) == "bad_profile");
    CHECK(code(database_of("CREATE VIEW rocpd_kernel_dispatch AS SELECT 1 AS id")) == "bad_profile");
    CHECK(code(database_of("CREATE VIEW rocpd_kernel_dispatch AS SELECT id FROM rocpd_kernel_dispatch")) ==
          "bad_profile");
}

#endif
