#include "import/serving_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "import/measurement_notes.hpp"

namespace roofline::core {

namespace {

using Columns = std::vector<std::string>;

// Upper limit of a plausible number of chips; the product of a few such numbers cannot overflow.
constexpr std::int64_t max_chips = 1'000'000;
constexpr std::int64_t max_tokens = 1'000'000'000;  // limit for tokens of a request, and for requests

/// The number after `before` at the start of a text; none if `before` does not begin it or the number is too large.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view before) {
    const std::size_t at = text.find(before);
    if (at == std::string_view::npos) return std::nullopt;
    std::int64_t value = 0;
    const char* const begin = text.data() + at + before.size();
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (error != std::errc{} || end == begin || value < 0 || value > max_chips) return std::nullopt;
    return value;
}

/// Workers of one kind in a note: "2x(tp8 dp1 ep8)"; without a number before the x their number is unknown.
struct Pool {
    std::int64_t workers = 0;
    ServingWorker worker;
};

std::optional<Pool> pool_in(std::string_view note, std::string_view label) {
    const std::size_t at = note.find(label);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view text = note.substr(at + label.size());
    const std::size_t open = text.find("x(");
    const std::size_t close = text.find(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
    Pool pool;
    pool.workers = number_after(text.substr(0, open), "").value_or(0);
    text = text.substr(open, close - open);
    const auto axis = [&](std::string_view name) {
        return std::max<std::int64_t>(1, number_after(text, name).value_or(1));
    };
    pool.worker = {axis("tp"), axis("pp"), axis("dp"), axis("ep")};
    return pool;
}

class ServingRowReader {
public:
    explicit ServingRowReader(CsvReader& reader) : reader_(reader), columns_(reader.header()), fields_(reader) {}

    Result<MeasuredServing> read(std::string& skip) {
        MeasuredServing row;
        row.line = reader_.line();
        row.source = text({"source"});
        row.model = text({"model"});
        row.system = text({"accelerator", "system"});
        row.dtype = lowered(text({"dtype"}));
        row.kv_dtype = lowered(text({"kv_dtype"}));
        const std::string_view server = text({"software", "lib"});
        for (const std::string_view place : {server, text({"notes", "note"}), std::string_view(row.source)}) {
            if (row.software.empty()) row.software = software_in(place);
        }
        if (!server.empty() && software_in(server).empty()) row.software = lowered(server);  // a custom server
        ROOFLINE_CHECK(read_split(row));
        ROOFLINE_CHECK(read_load(row, skip));
        ROOFLINE_CHECK(read_times(row));
        if (row.model.empty()) skip = "the model is empty";
        if (row.system.empty()) skip = "the accelerator is empty";
        if (skip.empty() && !row.ttft_s && !row.tpot_s && !row.tokens_per_s) skip = "it has neither a time nor a rate";
        return row;
    }

private:
    [[nodiscard]] std::string_view text(std::initializer_list<std::string_view> columns) const {
        return fields_.text(find_column(columns_, columns));
    }

    /// Returns 0 if the field is empty.
    [[nodiscard]] Result<std::int64_t> count(std::string_view column, std::int64_t most) const {
        const auto at = find_column(columns_, {column});
        if (!at || fields_.text(at) == "0") return 0;
        const auto value = fields_.whole(*at);
        if (!value || *value <= most) return value;
        return reader_.fail_at(reader_.record()[*at].offset, "bad_number",
                               fmt::format("{} in column `{}` is larger than {}", *value, column, most));
    }

    Status read_split(MeasuredServing& row) const {
        std::int64_t all = 0;
        std::int64_t* const axes[] = {&all, &row.worker.tensor, &row.worker.pipeline, &row.worker.data,
                                      &row.worker.expert};
        std::size_t i = 0;
        for (const char* column : {"n_accel", "tp", "pp", "dp", "ep"}) {
            ROOFLINE_TRY(const auto value, count(column, max_chips));
            *axes[i] = std::max<std::int64_t>(value, i == 0 ? 0 : 1);
            ++i;
        }
        row.disaggregated = lowered(text({"mode"})).starts_with("disagg");
        if (row.disaggregated) {
            read_pools(row, all);
        } else {
            const std::int64_t each = row.worker.chips();
            row.chips = all > 0 ? all : each;
            row.decode_workers = row.chips % each == 0 ? row.chips / each : 1;
            row.decode_chips = row.chips / row.decode_workers;
            row.prefill_chips = row.decode_chips;
        }
        return {};
    }

    void read_pools(MeasuredServing& row, std::int64_t all) const {
        const std::string_view note = text({"notes", "note"});
        const auto decode = pool_in(note, "D:");
        const auto prefill = pool_in(note, "P:");
        if (decode) row.worker = decode->worker;
        row.decode_workers = decode ? decode->workers : all > 0 ? 1 : 0;
        row.decode_chips = decode || all == 0 ? row.worker.chips() : all;
        row.prefill_chips = prefill ? prefill->worker.chips() : all;
        if (prefill) row.prefill_worker = prefill->worker;
        if (prefill) row.prefill_workers = prefill->workers;
        row.chips = all > 0 ? all : row.decode_chips;
    }

    /// A number, or `mean512`; 0 if the field is empty.
    [[nodiscard]] Result<double> length(std::string_view column) const {
        const auto at = *find_column(columns_, {column});
        const std::string_view written = fields_.text(at);
        if (!written.starts_with("mean")) {
            const auto value = count(column, max_tokens);
            return value ? Result<double>(static_cast<double>(*value)) : fail(value.error());
        }
        const auto value = number_after(written, "mean");
        if (value && *value > 0) return static_cast<double>(*value);
        return reader_.fail_at(reader_.record()[at].offset, "bad_number",
                               fmt::format("{} in column `{}` is not a length", in_ticks(written), column),
                               "write it like `512` or `mean512`");
    }

    Status read_load(MeasuredServing& row, std::string& skip) const {
        ROOFLINE_TRY(const auto prompt, length("input_len"));
        ROOFLINE_TRY(const auto output, length("output_len"));
        row.prompt = prompt;
        row.output = output;
        if (prompt < 1 || output < 1) skip = fmt::format("{} is empty", prompt < 1 ? "input_len" : "output_len");
        const auto at = *find_column(columns_, {"batch_or_concurrency"});
        const std::string_view written = fields_.text(at);
        if (written.empty() || lowered(written) == "inf") return {};
        if (const auto most = number_after(written, "max_num_seqs "); most && *most > 0) {
            row.concurrency = static_cast<double>(*most);
            return {};
        }
        ROOFLINE_TRY(const auto number, count("batch_or_concurrency", max_tokens));
        if (number > 0) row.concurrency = static_cast<double>(number);
        return {};
    }

    Status read_times(MeasuredServing& row) const {
        std::optional<double>* const times[] = {&row.ttft_s, &row.tpot_s, &row.tokens_per_s};
        std::size_t i = 0;
        for (const char* column : {"ttft_s", "tpot_s", "tokens_per_s"}) {
            const auto at = find_column(columns_, {column});
            ROOFLINE_TRY(const auto value, at ? fields_.number(*at) : Result<double>(0));
            if (value > 0) *times[i] = value;
            ++i;
        }
        return {};
    }

    CsvReader& reader_;
    const Columns& columns_;
    TableFields fields_;
};

}  // namespace

std::int64_t ServingWorker::chips() const { return std::max(tensor * pipeline * data, expert); }

std::string ServingWorker::text() const {
    std::string text = fmt::format("tp{}", tensor);
    for (const auto& [axis, ways] : {std::pair{"pp", pipeline}, std::pair{"dp", data}, std::pair{"ep", expert}}) {
        if (ways > 1) text += fmt::format(" {}{}", axis, ways);
    }
    return text;
}

std::string MeasuredServing::strategy() const { return (disaggregated ? "disagg " : "") + worker.text(); }

std::optional<double> MeasuredServing::decoding() const {
    std::optional<double> running;
    if (tokens_per_s && tpot_s) {
        running = *tokens_per_s * *tpot_s;
    } else if (concurrency && ttft_s && tpot_s) {
        const double behind = (output - 1) * *tpot_s;
        running = *concurrency * behind / (*ttft_s + behind);
    }
    if (running && concurrency) running = std::min(*running, *concurrency);
    return running;
}

bool is_serving_table(const Columns& columns) {
    const auto all = {"model", "input_len", "output_len", "batch_or_concurrency"};
    return std::all_of(all.begin(), all.end(), [&](const char* name) { return find_column(columns, {name}); }) &&
           find_column(columns, {"accelerator", "system"}) &&
           find_column(columns, {"ttft_s", "tpot_s", "tokens_per_s"});
}

Result<ServingTable> read_serving_table(CsvReader& reader) {
    if (!is_serving_table(reader.header())) {
        return reader.fail_at(0, "bad_table", "this is not a table of serving measurements",
                              "its columns are model, accelerator, input_len, output_len, batch_or_concurrency, and "
                              "ttft_s, tpot_s or tokens_per_s");
    }
    ServingRowReader rows(reader);
    return read_table<ServingTable>(reader, [&](std::string& skip) { return rows.read(skip); });
}

}  // namespace roofline::core
