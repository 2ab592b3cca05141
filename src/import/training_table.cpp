#include "import/training_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "import/plan_columns.hpp"

namespace roofline::core {

namespace {

using Columns = std::vector<std::string>;

struct WholeColumn {
    std::string_view name;
    std::int64_t MeasuredTraining::* field;
    std::string_view other_name{};  ///< in tables of plans
};
constexpr WholeColumn wholes[] = {
    {"layers", &MeasuredTraining::layers},
    {"hidden", &MeasuredTraining::hidden},
    {"ffn", &MeasuredTraining::ffn},
    {"heads", &MeasuredTraining::heads},
    {"kv_heads", &MeasuredTraining::kv_heads},
    {"vocab", &MeasuredTraining::vocab},
    {"seq_len", &MeasuredTraining::sequence, "seq"},
    {"global_batch_seqs", &MeasuredTraining::sequences, "global_batch"},
    {"micro_batch", &MeasuredTraining::micro_batch},
    {"n_accel", &MeasuredTraining::chips},
    {"dp", &MeasuredTraining::data},
    {"tp", &MeasuredTraining::tensor},
    {"pp", &MeasuredTraining::pipeline},
    {"ep", &MeasuredTraining::expert},
    {"cp", &MeasuredTraining::context},
};

/// The integer after a word of the notes, such as "vpp=" in "task=x; vpp=4"; 0 if the word does not occur.
std::int64_t noted(std::string_view notes, std::string_view word) {
    const std::size_t at = notes.find(word);
    if (at == std::string_view::npos) return 0;
    notes.remove_prefix(at + word.size());
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(notes.data(), notes.data() + notes.size(), value);
    return error == std::errc{} && value > 0 && value < 1'000'000 ? value : 0;
}

/// The integer in front of a word of the notes, such as "x v" in "2x v5e-256"; 0 if there is none.
std::int64_t noted_before(std::string_view notes, std::string_view word) {
    const std::size_t at = notes.find(word);
    if (at == std::string_view::npos) return 0;
    std::size_t begin = at;
    while (begin > 0 && is_digit(notes[begin - 1])) --begin;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(notes.data() + begin, notes.data() + at, value);
    return error == std::errc{} && end == notes.data() + at && value > 0 && value < 1'000'000 ? value : 0;
}

struct NotedAxis {
    std::string_view name;
    std::int64_t MeasuredTraining::* field;
};
// FSDP takes the chips that these leave
constexpr NotedAxis noted_axes[] = {
    {"tensor", &MeasuredTraining::tensor},   {"tp", &MeasuredTraining::tensor},
    {"expert", &MeasuredTraining::expert},   {"ep", &MeasuredTraining::expert},
    {"context", &MeasuredTraining::context}, {"cp", &MeasuredTraining::context},
};

/// Reads a word that gives the degree of an axis inside a slice, such as "ici_fsdp_parallelism=32" or "tp4".
void read_axis(std::string_view word, MeasuredTraining& row) {
    if (word.starts_with("dcn_")) return;
    if (word.starts_with("ici_")) word.remove_prefix(4);
    const std::size_t digits = std::min(word.find_first_of("0123456789"), word.size());
    std::string_view name = word.substr(0, digits);
    constexpr std::string_view equals = "_parallelism=";
    if (name.ends_with(equals)) name.remove_suffix(equals.size());
    std::int64_t ways = 0;
    const auto [end, error] = std::from_chars(word.data() + digits, word.data() + word.size(), ways);
    if (error != std::errc{} || end != word.data() + word.size() || ways <= 0 || ways > 1'000'000) return;
    for (const NotedAxis& axis : noted_axes) {
        if (axis.name == name && row.*axis.field == 0) row.*axis.field = ways;
    }
}

/// Reads what notes say of a run of MaxText, whose axes lie inside slices ("ici") or over them ("dcn").
void read_axes(std::string_view notes, MeasuredTraining& row) {
    constexpr std::string_view between = " ;,()";
    row.slices = std::max(noted_before(notes, "x v"), noted_before(notes, " slice"));
    row.data_over_slices = holds(notes, "across slices") || holds(row.sharding, "across slices");
    constexpr std::string_view policy = "remat_policy=";
    while (!notes.empty()) {
        const std::size_t length = std::min(notes.find_first_of(between), notes.size());
        const std::string_view word = notes.substr(0, length);
        read_axis(word, row);
        if (word.starts_with(policy)) row.policy = word.substr(policy.size());
        if (word == "qkv_proj_offloaded") row.policy = word;
        notes.remove_prefix(std::min(length + 1, notes.size()));
    }
    if (row.policy.empty()) row.policy = row.recompute;
}

void read_notes(std::string_view notes, MeasuredTraining& row) {
    read_axes(notes, row);
    row.chunks = std::max(noted(notes, "vpp="), std::int64_t{1});
    row.microbatches = std::max(noted(notes, "micro_batches="), noted(notes, "micro_num="));
    // two cores are a chip, which the cores of a tensor axis fill first
    constexpr std::int64_t cores = 2;
    if (holds(notes, "count NeuronCores") && row.tensor % cores == 0) row.tensor /= cores;
    row.local_batch = holds(notes, "lbs");
    row.exchanged_heads = holds(notes, "cp A2A");
    row.whole_tokens = holds(notes, "no SP");
    row.eager = holds(notes, "eager");
    row.lora = holds(notes, "LoRA");
    row.f32_gradients = holds(notes, "Megatron");
    row.memory_in_gib = holds(notes, "GiB");
    if (row.memory_in_gib) row.memory_bytes *= 1.073741824;
    if (row.memory_bytes > 0 && holds(notes, "allocated")) {
        row.memory_what = "allocated";
    } else if (row.memory_bytes > 0 && holds(notes, "reserved")) {
        row.memory_what = "reserved";
    }
}

class TrainingReader {
public:
    explicit TrainingReader(CsvReader& reader)
        : reader_(reader), columns_(reader.header()), fields_(reader), plans_(is_plan_table(columns_)) {}

    /// Reads the current row; `skip` is the reason if it cannot be compared.
    Status read(MeasuredTraining& row, std::string& skip) {
        row.line = reader_.line();
        row.source = text({"repo_or_paper", "source"});
        row.table = text({"source"});
        row.model = text({"model"});
        row.system = text({"accelerator", "system", "machine"});
        row.dtype = lowered(text({"dtype"}));
        row.sharding = lowered(text({"zero_stage_or_fsdp", "sharding"}));
        row.recompute = lowered(text({"recompute"}));
        if (plans_) skip = why_no_step(columns_, fields_);
        if (!skip.empty()) return {};
        for (const WholeColumn& column : wholes) {
            const auto at = find_column(columns_, {column.name, column.other_name});
            if (!at) continue;
            ROOFLINE_TRY(row.*column.field, fields_.whole(*at));
        }
        ROOFLINE_CHECK(read_figures(row));
        row.notes = text({"notes", "note"});
        if (plans_) {
            ROOFLINE_CHECK(read_plan_columns(columns_, fields_, row, skip));
            if (skip.empty()) skip = reason(row);
            return {};
        }
        read_notes(row.notes, row);
        skip = reason(row);
        return {};
    }

private:
    [[nodiscard]] std::string_view text(std::initializer_list<std::string_view> names) const {
        return fields_.text(find_column(columns_, names));
    }

    Result<double> number(std::initializer_list<std::string_view> names) const {
        const auto at = find_column(columns_, names);
        return at ? fields_.number(*at) : 0.0;
    }

    Status read_figures(MeasuredTraining& row) const {
        ROOFLINE_TRY(const auto params, number({"params_B"}));
        ROOFLINE_TRY(const auto step_s, number({"step_time_s"}));
        ROOFLINE_TRY(const auto tokens, number({"tokens_per_s_per_accel"}));
        ROOFLINE_TRY(const auto memory, number({"memory_GB_per_accel", "memory_GB"}));
        ROOFLINE_TRY(const auto tera, number({"tflops_per_accel"}));
        row.model_flops = tera * 1e12;
        row.params = params * 1e9;
        row.memory_bytes = memory * 1e9;
        row.step_s = step_s;
        if (step_s > 0 || !(tokens > 0)) return {};
        const double step_tokens = static_cast<double>(row.sequences) * static_cast<double>(row.sequence);
        if (row.chips > 0) row.step_s = step_tokens / (tokens * static_cast<double>(row.chips));
        return {};
    }

    static std::string reason(const MeasuredTraining& row) {
        if (row.model.empty()) return "the model is empty";
        if (row.system.empty()) return "the accelerator is empty";
        if (row.chips == 0) return "n_accel is empty";
        if (row.sequence == 0) return "seq_len is empty";
        // memory does not depend on the number of micro-batches, so any known number is enough
        const bool batch = row.sequences > 0 || (row.microbatches > 0 && row.micro_batch > 0 && row.data > 0);
        if (!batch) return "the global batch is empty";
        if (!(row.step_s > 0) && !(row.memory_bytes > 0) && !(row.model_flops > 0))
            return "it has no step time, no tokens per second and no memory";
        return "";
    }

    CsvReader& reader_;
    const Columns& columns_;
    TableFields fields_;
    bool plans_;  ///< the table is one of plans
};

}  // namespace

std::string MeasuredTraining::shape() const {
    return fmt::format("{}{} {}x{}", model, lora ? " LoRA" : "", sequences, sequence);
}

bool is_training_table(const Columns& columns) {
    const auto has = [&](std::string_view name) { return find_column(columns, {name}).has_value(); };
    return has("model") && has("n_accel") && find_column(columns, {"seq_len", "seq"}) &&
           find_column(columns, {"global_batch_seqs", "global_batch"}) && has("dp") && has("tp") && has("pp") &&
           find_column(columns, {"accelerator", "system", "machine"}) &&
           find_column(columns, {"step_time_s", "tokens_per_s_per_accel"});
}

Result<TrainingTable> read_training_table(CsvReader& reader) {
    TrainingReader rows(reader);
    return read_table<TrainingTable>(reader, [&](std::string& skip) -> Result<MeasuredTraining> {
        MeasuredTraining row;
        ROOFLINE_CHECK(rows.read(row, skip));
        return row;
    });
}

}  // namespace roofline::core
