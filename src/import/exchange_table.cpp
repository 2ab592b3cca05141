#include "import/exchange_table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "import/measurement_notes.hpp"

namespace roofline::core {

namespace {

using Columns = std::vector<std::string>;

/// The columns by meaning.
struct ExchangeColumns {
    std::optional<std::size_t> system, step, members, nodes, tokens, hidden, choices, experts, kernels, cores, dtype,
        routing, source;
    std::vector<ScaledColumn> times;
};

ExchangeColumns exchange_columns(const Columns& columns) {
    ExchangeColumns roles;
    roles.system = find_column(columns, {"system", "accelerator"});
    roles.step = find_column(columns, {"op", "phase"});
    roles.members = find_column(columns, {"ep_size"});
    roles.nodes = find_column(columns, {"n_nodes"});
    roles.tokens = find_column(columns, {"tokens_per_rank", "tokens"});
    roles.hidden = find_column(columns, {"hidden"});
    roles.choices = find_column(columns, {"topk"});
    roles.experts = find_column(columns, {"experts"});
    roles.kernels = find_column(columns, {"impl", "kernel"});
    roles.cores = find_column(columns, {"sms"});
    roles.dtype = find_column(columns, {"dtype"});
    roles.routing = find_column(columns, {"distribution"});
    roles.source = find_column(columns, {"source"});
    roles.times = time_columns(columns);
    return roles;
}

/// The variant that kernels are known by: "deepep normal" for "deepep_normal", "deepep low latency" for "deepep_ll";
/// other names in lower case.
std::string variant_of(std::string_view kernels) {
    std::string name = lowered(trimmed(kernels));
    for (char& c : name) c = c == '_' ? ' ' : c;
    return name == "deepep ll" ? "deepep low latency" : name;
}

class ExchangeReader {
public:
    ExchangeReader(CsvReader& reader, ExchangeColumns roles)
        : reader_(reader), fields_(reader), roles_(std::move(roles)) {}

    /// Reads the current row; if it cannot be used, `skip` says why.
    Result<MeasuredExchange> read(std::string& skip) {
        MeasuredExchange row;
        row.line = reader_.line();
        row.source = text(roles_.source);
        row.system = text(roles_.system);
        row.variant = variant_of(text(roles_.kernels));
        row.software = software_in(row.source);
        ROOFLINE_CHECK(read_counts(row, skip));
        ROOFLINE_TRY(const auto time, fields_.seconds(roles_.times));
        row.time_s = time;
        if (skip.empty() && row.system.empty()) skip = "the system is empty";
        if (skip.empty() && !(time > 0 && std::isfinite(time))) skip = "the time is empty";
        if (skip.empty()) skip = why_not(row);
        return row;
    }

private:
    [[nodiscard]] std::string_view text(std::optional<std::size_t> at) const { return fields_.text(at); }

    Status read_counts(MeasuredExchange& row, std::string& skip) {
        struct Count {
            std::optional<std::size_t> column;
            std::int64_t* value;
            const char* needed;  ///< name of a required column
        };
        const Count counts[] = {{roles_.members, &row.members, nullptr},  {roles_.nodes, &row.nodes, nullptr},
                                {roles_.cores, &row.cores, nullptr},      {roles_.tokens, &row.tokens, "tokens"},
                                {roles_.hidden, &row.hidden, "hidden"},   {roles_.choices, &row.choices, "topk"},
                                {roles_.experts, &row.experts, "experts"}};
        for (const Count& count : counts) {
            ROOFLINE_TRY(const auto value, count.column ? fields_.whole(*count.column) : Result<std::int64_t>(0));
            *count.value = value;
            if (value == 0 && count.needed != nullptr && skip.empty()) skip = fmt::format("{} is empty", count.needed);
        }
        row.nodes = std::max<std::int64_t>(row.nodes, 1);
        return {};
    }

    std::string why_not(MeasuredExchange& row) const {
        const std::string step = lowered(text(roles_.step));
        row.back = step == "combine";
        if (!row.back && step != "dispatch") return fmt::format("{} is neither dispatch nor combine", in_ticks(step));
        const std::string routing = lowered(text(roles_.routing));
        if (!routing.empty() && routing != "uniform" && routing != "balanced")
            return fmt::format("the routing {} is unknown: only uniform and balanced are supported", in_ticks(routing));
        if (row.choices > row.experts) return "topk is larger than the number of experts";
        const std::string_view dtype = text(roles_.dtype);
        // DeepEP quantises dispatched rows (its README says so, and its times are shorter than the links allow for
        // bf16)
        row.dtype = !row.back && row.variant.starts_with("deepep") ? Dtype::fp8 : Dtype::bf16;
        if (dtype.empty()) return "";
        const auto named = find_dtype(dtype);
        if (!named) return fmt::format("the dtype {} is unknown", in_ticks(dtype));
        row.dtype = *named;
        return "";
    }

    CsvReader& reader_;
    TableFields fields_;
    ExchangeColumns roles_;
};

}  // namespace

bool is_exchange_table(const Columns& columns) {
    return find_column(columns, {"topk"}) && find_column(columns, {"experts"}) && find_column(columns, {"hidden"}) &&
           find_column(columns, {"op", "phase"}) && find_column(columns, {"tokens_per_rank", "tokens"}) &&
           find_column(columns, {"time_s", "time_ms", "time_us"}) && !find_column(columns, {"inter"});
}

Result<ExchangeTable> read_exchange_table(CsvReader& reader) {
    const ExchangeColumns roles = exchange_columns(reader.header());
    if (!is_exchange_table(reader.header()) || !roles.system) {
        return reader.fail_at(0, "bad_table", "this is not a table of expert dispatch and combine",
                              "its columns are op or phase, system or accelerator, tokens_per_rank or tokens, hidden, "
                              "topk, experts and time_s or time_us");
    }
    ExchangeReader rows(reader, roles);
    return read_table<ExchangeTable>(reader, [&](std::string& skip) { return rows.read(skip); });
}

}  // namespace roofline::core
