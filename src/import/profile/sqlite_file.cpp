#include "import/profile/sqlite_file.hpp"

#ifdef ROOFLINE_HAVE_SQLITE

#include <fmt/format.h>

namespace roofline::core {

namespace {

constexpr std::int64_t most_rows = 50'000'000;

// A database may hold views and triggers that never end.
int give_up(void* steps) {
    constexpr int most_steps = 10'000;
    return ++*static_cast<int*>(steps) > most_steps ? 1 : 0;
}

tl::unexpected<Error> no_database(const std::string& name) {
    return fail("bad_profile", fmt::format("{}: the database cannot be read", name),
                "the file may be damaged: export the report again");
}

}  // namespace

Result<SqliteFile> SqliteFile::open(std::string_view bytes, const std::string& name) {
    SqliteFile file;
    file.name_ = name;
    sqlite3* opened = nullptr;
    const int state = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    file.database_.reset(opened);
    if (state != SQLITE_OK) return fail("bad_profile", fmt::format("{}: SQLite cannot be started", name));
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    constexpr int longest_text = 1'000'000;
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, longest_text);
    constexpr int instructions = 1'000'000;  // of SQLite's machine between two calls
    sqlite3_progress_handler(opened, instructions, give_up, file.steps_.get());
    // SQLite reads the bytes and does not write to them, which its type does not say.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    if (sqlite3_deserialize(opened, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
        return no_database(name);
    }
    SqliteQuery tables(file, "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')");
    while (tables.next()) file.tables_.emplace(tables.text(0));
    if (tables.failed()) return file.damaged();
    return file;
}

bool SqliteFile::has(std::string_view table, std::string_view column) const {
    SqliteQuery columns(*this, fmt::format("PRAGMA table_info({})", table));
    while (columns.next()) {
        if (columns.text(1) == column) return true;
    }
    return false;
}

tl::unexpected<Error> SqliteFile::damaged() const {
    return fail("bad_profile",
                fmt::format("{}: the database cannot be read: {}", name_, sqlite3_errmsg(database_.get())),
                "the file may be damaged: export the report again");
}

SqliteQuery::SqliteQuery(const SqliteFile& file, const std::string& text) {
    failed_ = sqlite3_prepare_v2(file.handle(), text.c_str(), -1, &statement_, nullptr) != SQLITE_OK;
}

bool SqliteQuery::next() {
    if (failed_) return false;
    const int state = sqlite3_step(statement_);
    failed_ = state != SQLITE_ROW && state != SQLITE_DONE;
    return state == SQLITE_ROW && ++rows_ <= most_rows;
}

std::string_view SqliteQuery::text(int column) const {
    const auto* const characters = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    if (characters == nullptr) return {};
    return {characters, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace roofline::core

#endif
