// The fields of a measurement table's records, as numbers and texts.
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

/// A row that says too little to be compared, and why: "all_gather over one device".
struct SkippedRow {
    int line = 0;
    std::string reason;  ///< the same text for the same reason, so that rows can be counted by it
};

/// All records of a table: `read(skip)` makes a row of the record that the reader stands at, or says in `skip` why it is left out.
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

/// A column of numbers, and how many of its unit make one of ours.
struct ScaledColumn {
    std::size_t index = 0;
    double per = 1;
};
/// time_s, time_ms and time_us, as far as they are there, in this order.
[[nodiscard]] std::vector<ScaledColumn> time_columns(const std::vector<std::string>& columns);

/// Of the record that the reader stands at.
class TableFields {
public:
    explicit TableFields(CsvReader& reader) : reader_(reader) {}

    [[nodiscard]] std::string_view text(std::optional<std::size_t> at) const;
    /// Above zero; 0 for an empty field. Error: anything else.
    [[nodiscard]] Result<double> number(std::size_t at) const;
    /// The same, whole and below 9e18.
    [[nodiscard]] Result<std::int64_t> whole(std::size_t at) const;
    /// Seconds of the first of these columns that is not empty; 0 where all are.
    [[nodiscard]] Result<double> seconds(const std::vector<ScaledColumn>& times) const;

private:
    CsvReader& reader_;
};

}  // namespace roofline::core
