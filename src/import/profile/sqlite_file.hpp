// Databases of SQLite that are read from memory, and not trusted.
#pragma once

#ifdef ROOFLINE_HAVE_SQLITE

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace roofline::core {

/// A database in bytes, which must outlive it. Queries that take too long fail.
class SqliteFile {
public:
    /// Errors: `bad_profile`, for bytes that are no database.
    [[nodiscard]] static Result<SqliteFile> open(std::string_view bytes, const std::string& name);

    [[nodiscard]] sqlite3* handle() const { return database_.get(); }
    [[nodiscard]] const std::string& name() const { return name_; }
    /// Whether there is a table or a view of that name.
    [[nodiscard]] bool has(std::string_view table) const { return tables_.contains(table); }
    /// Whether a table has a column.
    [[nodiscard]] bool has(std::string_view table, std::string_view column) const;
    /// The error for a query that failed.
    [[nodiscard]] tl::unexpected<Error> damaged() const;

private:
    struct Close {
        void operator()(sqlite3* database) const { sqlite3_close(database); }
    };
    std::unique_ptr<sqlite3, Close> database_;
    std::unique_ptr<int> steps_ = std::make_unique<int>(0);  ///< of SQLite's machine, in millions
    std::string name_;
    std::set<std::string, std::less<>> tables_;
};

/// A query whose rows are gone through once.
class SqliteQuery {
public:
    SqliteQuery(const SqliteFile& file, const std::string& text);
    ~SqliteQuery() { sqlite3_finalize(statement_); }
    SqliteQuery(const SqliteQuery&) = delete;
    SqliteQuery& operator=(const SqliteQuery&) = delete;

    /// Goes to the next row, of at most 50 million.
    bool next();
    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] bool has(int column) const { return sqlite3_column_type(statement_, column) != SQLITE_NULL; }
    [[nodiscard]] std::int64_t whole(int column) const { return sqlite3_column_int64(statement_, column); }
    /// Valid until the next row.
    [[nodiscard]] std::string_view text(int column) const;

private:
    sqlite3_stmt* statement_ = nullptr;
    bool failed_ = false;
    std::int64_t rows_ = 0;
};

}  // namespace roofline::core

#endif
