#include "import/collective_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/ascii.hpp"
#include "import/measurement_notes.hpp"
#include "network/collective.hpp"

namespace roofline::core {

namespace {

using Columns = std::vector<std::string>;

/// A column of rates in bytes per second; bus or algorithm bandwidth of nccl-tests.
struct RateColumn {
    ScaledColumn column;
    bool bus = false;
};

/// The columns by meaning.
struct Roles {
    std::size_t op = 0;
    std::size_t members = 0;
    std::size_t bytes = 0;
    std::optional<std::size_t> system;
    std::optional<std::size_t> link;
    std::optional<std::size_t> nodes;
    std::optional<std::size_t> dtype;
    std::optional<std::size_t> source;
    std::optional<std::size_t> library;
    std::optional<std::size_t> note;
    std::vector<ScaledColumn> times;
    std::vector<RateColumn> rates;
};

Roles roles_of(const Columns& columns) {
    Roles roles;
    roles.op = find_column(columns, {"op"}).value_or(0);
    roles.members = find_column(columns, {"n_devices"}).value_or(0);
    roles.bytes = find_column(columns, {"bytes"}).value_or(0);
    roles.system = find_column(columns, {"system", "accelerator"});
    roles.link = find_column(columns, {"link"});
    roles.nodes = find_column(columns, {"n_nodes"});
    roles.dtype = find_column(columns, {"dtype"});
    roles.source = find_column(columns, {"source"});
    roles.library = find_column(columns, {"lib"});
    roles.note = find_column(columns, {"note", "notes"});
    roles.times = time_columns(columns);
    if (const auto at = find_column(columns, {"busbw_GBs"})) roles.rates.push_back({{*at, 1e9}, true});
    if (const auto at = find_column(columns, {"algbw_GBs"})) roles.rates.push_back({{*at, 1e9}, false});
    return roles;
}

std::string folded(std::string_view text) {
    std::string letters;
    for (const char c : text) {
        if (c != '_' && c != '-' && c != ' ') letters += to_lower(c);
    }
    return letters;
}

}  // namespace

std::optional<CollectiveKind> collective_in(std::string_view text) {
    const std::string asked = folded(text);
    if (asked == "ppermute") return CollectiveKind::permute;  // JAX's name
    for (const CollectiveInfo& each : all_collectives) {
        if (each.table.empty() || asked.empty()) continue;
        if (asked == folded(each.id) || asked == folded(each.table) || asked == folded(each.nccl)) return each.kind;
    }
    return std::nullopt;
}

double whole_bytes(CollectiveKind kind, double size, double members) {
    return info(kind).size_of_member() ? size * members : size;
}

namespace {

/// Reads rows one after another.
class RowReader {
public:
    RowReader(CsvReader& reader, Roles roles) : reader_(reader), fields_(reader), roles_(std::move(roles)) {}

    /// Reads the current row; if it cannot be used, `skip` says why.
    Result<MeasuredCollective> read(std::string& skip);

private:
    [[nodiscard]] std::string_view text(std::optional<std::size_t> at) const { return fields_.text(at); }
    Result<double> time_of(const MeasuredCollective& row) const;

    CsvReader& reader_;
    TableFields fields_;
    Roles roles_;
};

/// Time of the row in seconds; 0 if it has none.
Result<double> RowReader::time_of(const MeasuredCollective& row) const {
    const auto time = fields_.seconds(roles_.times);
    if (!time || *time > 0) return time;
    for (const RateColumn& each : roles_.rates) {
        ROOFLINE_TRY(const auto value, fields_.number(each.column.index));
        const double factor = each.bus ? info(row.kind).bus_factor(static_cast<double>(row.members)) : 1;
        if (value > 0) return row.size * factor / (value * each.column.per);
    }
    return 0.0;
}

Result<MeasuredCollective> RowReader::read(std::string& skip) {
    MeasuredCollective row;
    row.line = reader_.line();
    row.source = text(roles_.source);
    row.system = text(roles_.system);
    row.link = text(roles_.link);
    ROOFLINE_TRY(const auto members, fields_.whole(roles_.members));
    ROOFLINE_TRY(const auto nodes, roles_.nodes ? fields_.whole(*roles_.nodes) : Result<std::int64_t>(1));
    ROOFLINE_TRY(const auto size, fields_.number(roles_.bytes));
    row.members = members;
    row.nodes = std::max<std::int64_t>(nodes, 1);
    row.size = size;
    const std::string_view op = text(roles_.op);
    const auto kind = collective_in(op);
    if (op.empty() || members == 0 || size == 0 || row.system.empty()) {
        skip = fmt::format("{} is empty", op.empty()     ? "op"
                                          : members == 0 ? "n_devices"
                                          : size == 0    ? "bytes"
                                                         : reader_.header()[*roles_.system]);
        return row;
    }
    if (!kind) skip = fmt::format("the operation {} is unknown", in_ticks(op));
    if (skip.empty() && members == 1) skip = "one device sends nothing";
    if (!skip.empty()) return row;
    row.kind = *kind;
    row.bytes = whole_bytes(*kind, size, static_cast<double>(members));
    ROOFLINE_TRY(const auto time, time_of(row));
    if (time <= 0 || !std::isfinite(time)) skip = "the time is empty";
    row.time_s = time;
    row.dtype = find_dtype(text(roles_.dtype));
    const std::string_view note = text(roles_.note);
    apply_note(note, row);
    for (const std::string_view place : {text(roles_.library), std::string_view(row.source), note}) {
        const std::string named = software_in(place);
        // a later place may say the version
        if (row.software.empty() || named.starts_with(row.software + " ")) row.software = named;
    }
    // Published times of oneCCL's all-gather are twice those of its reduce-scatter of as many bytes among two GPUs and
    // four times among four: unlike other rows, these state the bytes of each rank.
    if (row.kind == CollectiveKind::all_gather && row.software.starts_with("oneccl"))
        row.bytes *= static_cast<double>(members);
    return row;
}

}  // namespace

bool is_collective_table(const Columns& columns) {
    return find_column(columns, {"op"}) && find_column(columns, {"n_devices"}) && find_column(columns, {"bytes"}) &&
           find_column(columns, {"time_s", "time_ms", "time_us", "busbw_GBs", "algbw_GBs"});
}

Result<CollectiveTable> read_collective_table(CsvReader& reader) {
    const Roles roles = roles_of(reader.header());
    if (!is_collective_table(reader.header()) || !roles.system) {
        return reader.fail_at(
            0, "bad_table", "this is not a table of collectives",
            "its columns are op, n_devices, bytes, system or accelerator, and time_s, time_us or busbw_GBs");
    }
    RowReader rows(reader, roles);
    return read_table<CollectiveTable>(reader, [&](std::string& skip) { return rows.read(skip); });
}

}  // namespace roofline::core
