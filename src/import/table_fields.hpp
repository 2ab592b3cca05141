// Reads the fields of a measurement table's records as numbers and strings.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/csv.hpp"

namespace roofline::core {

/// A row that is too incomplete to be compared, and the reason: "all_gather over one device".
struct SkippedRow {
    int line = 0;
    std::string reason;  ///< the same text for the same reason, so that rows can be counted by it
};

/// Reads all records of a table. `read(skip)` makes a row from the reader's current record, or sets `skip` to the
/// reason why it cannot.
template <class Table, class Read>
[[nodiscard]] Result<Table> read_table(CsvReader& reader, Read read) {
    Table table;
    while (true) {
        ROOFLINE_TRY(const auto more, reader.next());
        if (!more) return table;
        std::string skip;
        auto row = read(skip);
        if (!row && row.error().code == "bad_number" && reader.leaves_out_bad_rows()) {
            table.skipped.push_back({reader.line(), row.error().message});
            continue;
        }
        if (!row) return fail(row.error());
        if (skip.empty()) {
            table.rows.push_back(std::move(*row));
        } else {
            table.skipped.push_back({row->line, std::move(skip)});
        }
    }
}

/// The first of the names that is a column.
[[nodiscard]] std::optional<std::size_t> find_column(const std::vector<std::string>& columns,
                                                     std::initializer_list<std::string_view> names);

/// Whether a free text contains a word.
[[nodiscard]] inline bool holds(std::string_view text, std::string_view word) {
    return text.find(word) != std::string_view::npos;
}

/// A column of numbers, and the factor of its unit.
struct ScaledColumn {
    std::size_t index = 0;
    double per = 1;
};
/// The existing columns among time_s, time_ms and time_us, in this order.
[[nodiscard]] std::vector<ScaledColumn> time_columns(const std::vector<std::string>& columns);

/// The fields of the reader's current record.
class TableFields {
public:
    explicit TableFields(CsvReader& reader) : reader_(reader) {}

    [[nodiscard]] std::string_view text(std::optional<std::size_t> at) const;
    /// A positive number; 0 for an empty field. Error: anything else.
    [[nodiscard]] Result<double> number(std::size_t at) const;
    /// The same for whole numbers below 9e18.
    [[nodiscard]] Result<std::int64_t> whole(std::size_t at) const;
    /// Seconds from the first of these columns that is not empty; 0 if all are empty.
    [[nodiscard]] Result<double> seconds(const std::vector<ScaledColumn>& times) const;

private:
    CsvReader& reader_;
};

}  // namespace roofline::core
