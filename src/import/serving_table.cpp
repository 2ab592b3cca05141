#include "import/serving_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

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

using Column = std::optional<std::size_t>;

// Columns by the names that tables give them.
Column system_column(const Columns& columns) { return find_column(columns, {"accelerator", "system", "machine"}); }
Column prompt_column(const Columns& columns) { return find_column(columns, {"input_len", "isl"}); }
Column output_column(const Columns& columns) { return find_column(columns, {"output_len", "osl"}); }
Column load_column(const Columns& columns) { return find_column(columns, {"batch_or_concurrency", "concurrency"}); }

class ServingRowReader {
public:
    explicit ServingRowReader(CsvReader& reader) : reader_(reader), columns_(reader.header()), fields_(reader) {}

    Result<MeasuredServing> read(std::string& skip) {
        MeasuredServing row;
        row.line = reader_.line();
        row.source = text({"source"});
        row.model = text({"model"});
        row.system = fields_.text(system_column(columns_));
        row.dtype = lowered(text({"dtype", "precision"}));
        row.kv_dtype = lowered(text({"kv_dtype"}));
        std::string server(text({"software", "lib", "framework"}));
        if (const auto version = text({"version"}); !version.empty()) server += fmt::format(" {}", version);
        for (const std::string_view place :
             {std::string_view(server), text({"notes", "note"}), std::string_view(row.source)}) {
            if (row.software.empty()) row.software = software_in(place);
        }
        if (!server.empty() && software_in(server).empty()) row.software = lowered(server);  // a custom server
        ROOFLINE_CHECK(read_split(row));
        ROOFLINE_CHECK(read_load(row, skip));
        ROOFLINE_CHECK(read_times(row));
        drive(row);
        if (lowered(text({"measured"})) == "no") skip = "nothing was measured";
        if (const auto drafts = lowered(text({"spec_decode"})); !drafts.empty() && drafts != "none") {
            skip = "its tokens were drafted (speculative decoding)";
        }
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

    /// Reads `prefill_tp`, `prefill_ep` and so on. `dp_attn` is a number of members, or true where all chips of the
    /// tensor axis attend to sequences of their own.
    [[nodiscard]] Result<ServingWorker> worker(const std::string& prefix) const {
        ServingWorker worker;
        for (const auto& [name, axis] : {std::pair{"tp", &worker.tensor}, std::pair{"pp", &worker.pipeline},
                                         std::pair{"dp", &worker.data}, std::pair{"ep", &worker.expert}}) {
            ROOFLINE_TRY(const auto value, count(prefix + name, max_chips));
            *axis = std::max<std::int64_t>(value, 1);
        }
        const std::string column = prefix + "dp_attn";
        const std::string members = lowered(text({column}));
        if (members == "true") {
            worker.data = worker.tensor;
            worker.tensor = 1;
        } else if (!members.empty() && members != "false") {
            ROOFLINE_TRY(const auto value, count(column, max_chips));
            worker.data = std::max<std::int64_t>(value, 1);
        }
        return worker;
    }

    Status read_split(MeasuredServing& row) const {
        ROOFLINE_TRY(const auto all, count("n_accel", max_chips));
        ROOFLINE_TRY(row.worker, worker(""));
        // of chips that are two cores
        constexpr std::int64_t cores = 2;
        const bool of_cores = holds(text({"notes", "note"}), "counts cores") && row.worker.chips() == cores * all;
        if (of_cores && row.worker.tensor % cores == 0) {
            row.worker.tensor /= cores;
            if (row.worker.expert % cores == 0) row.worker.expert /= cores;
        }
        row.disaggregated = lowered(text({"mode"})).starts_with("disagg");
        if (row.disaggregated) return read_pools(row, all);
        const std::int64_t each = row.worker.chips();
        row.chips = all > 0 ? all : each;
        row.decode_workers = row.chips % each == 0 ? row.chips / each : 1;
        row.decode_chips = row.chips / row.decode_workers;
        row.prefill_chips = row.decode_chips;
        return {};
    }

    /// Workers of one kind, by columns or else by a note.
    [[nodiscard]] Result<std::optional<Pool>> pool(const std::string& prefix, std::string_view label) const {
        ROOFLINE_TRY(const auto workers, count(prefix + "workers", max_chips));
        if (workers == 0) return pool_in(text({"notes", "note"}), label);
        Pool pool{workers, {}};
        ROOFLINE_TRY(pool.worker, worker(prefix));
        return std::optional(pool);
    }

    Status read_pools(MeasuredServing& row, std::int64_t all) const {
        ROOFLINE_TRY(auto decode, pool("decode_", "D:"));
        ROOFLINE_TRY(auto prefill, pool("prefill_", "P:"));
        if (decode && prefill) count_workers(*prefill, *decode, all);
        if (decode) row.worker = decode->worker;
        row.decode_workers = decode ? decode->workers : all > 0 ? 1 : 0;
        row.decode_chips = decode || all == 0 ? row.worker.chips() : all;
        row.prefill_chips = prefill ? prefill->worker.chips() : all;
        if (prefill) row.prefill_worker = prefill->worker;
        if (prefill) row.prefill_workers = prefill->workers;
        row.chips = all > 0 ? all : row.decode_chips;
        row.all_chips = all > 0;
        return {};
    }

    // Where the numbers of workers are unknown, they follow from that of all chips if only one pair of numbers does.
    static void count_workers(Pool& prefill, Pool& decode, std::int64_t all) {
        if (prefill.workers > 0 && decode.workers > 0) return;
        const std::int64_t each = prefill.worker.chips();
        const std::int64_t other = decode.worker.chips();
        std::optional<std::pair<std::int64_t, std::int64_t>> found;
        for (std::int64_t count = 1; count * each < all; ++count) {
            const std::int64_t left = all - count * each;
            if (left % other != 0) continue;
            if (found) return;
            found = {count, left / other};
        }
        if (!found) return;
        prefill.workers = found->first;
        decode.workers = found->second;
    }

    /// A number, or `mean512`; 0 if the field is empty.
    [[nodiscard]] Result<double> length(std::size_t at) const {
        const std::string_view column = columns_[at];
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
        ROOFLINE_TRY(const auto prompt, length(*prompt_column(columns_)));
        ROOFLINE_TRY(const auto output, length(*output_column(columns_)));
        row.stated_prompt = prompt;
        row.stated_output = output;
        if (prompt < 1 || output < 1) skip = fmt::format("the {} length is empty", prompt < 1 ? "prompt" : "output");
        const auto at = *load_column(columns_);
        const std::string_view written = fields_.text(at);
        if (written.empty() || lowered(written) == "inf") return {};
        if (const auto most = number_after(written, "max_num_seqs "); most && *most > 0) {
            row.concurrency = static_cast<double>(*most);
            return {};
        }
        ROOFLINE_TRY(const auto number, count(columns_[at], max_tokens));
        if (number > 0) row.concurrency = static_cast<double>(number);
        return {};
    }

    // Sets the requests that the publisher sent.
    void drive(MeasuredServing& row) const {
        row.prompt = row.stated_prompt;
        row.output = row.stated_output;
        const BenchmarkLoad* const load =
            built_in_benchmark_loads().find(row.source, text({"notes", "note"}), row.concurrency.value_or(0));
        if (load == nullptr || row.prompt < 1 || row.output < 1) return;
        row.drive = load->of(row.prompt, row.output, row.concurrency.value_or(0), row.software);
        if (!row.drive.lengths) return;
        row.prompt = mean_length(row.drive.lengths->prompt);
        row.output = mean_length(row.drive.lengths->output);
    }

    Status read_times(MeasuredServing& row) const {
        const auto chips = static_cast<double>(row.chips);
        for (const auto& [column, value, scale] :
             {std::tuple{"ttft_s", &row.ttft_s, 1.0}, std::tuple{"ttft_ms", &row.ttft_s, 1e-3},
              std::tuple{"tpot_s", &row.tpot_s, 1.0}, std::tuple{"tpot_ms", &row.tpot_s, 1e-3},
              std::tuple{"tokens_per_s", &row.tokens_per_s, 1.0},
              std::tuple{"out_tok_s_gpu", &row.tokens_per_s, chips}}) {
            const auto at = find_column(columns_, {column});
            if (!at || *value) continue;
            ROOFLINE_TRY(const auto number, fields_.number(*at));
            if (number > 0) *value = number * scale;
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
    return find_column(columns, {"model"}) && system_column(columns) && prompt_column(columns) &&
           output_column(columns) && load_column(columns) &&
           find_column(columns, {"ttft_s", "tpot_s", "tokens_per_s", "ttft_ms", "tpot_ms", "out_tok_s_gpu"});
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
