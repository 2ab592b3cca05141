#include "import/plan_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

using Columns = std::vector<std::string>;

std::string lowered_text(const Columns& columns, const TableFields& fields, std::string_view name) {
    return lowered(trimmed(fields.text(find_column(columns, {name}))));
}

/// The words of an overlap such as "tp+dp_rs+cudagraph:local".
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('+'), text.size());
        words.emplace_back(trimmed(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

void read_overlap(const std::string& text, MeasuredTraining& row) {
    row.in_turn = text == "none";
    for (const std::string& word : words_of(text)) {
        if (word == "tp") row.overlapped.emplace_back("tensor");
        if (word == "ep_a2a_1f1b" || word == "overlap-moe-expert-parallel-comm") row.overlapped.emplace_back("expert");
    }
}

/// Sets the policy of a recomputation in the words of Megatron-LM's options: "full:block:8" recomputes eight layers of
/// a stage. Returns the reason if it recomputes a part for which there is no policy.
std::string read_recompute(MeasuredTraining& row) {
    const std::string said = std::move(row.recompute);
    row.recompute = "unknown";
    if (said.empty() || said == "unknown" || said == "not listed") return "";
    if (said == "none" || said == "none (not set in config)" || said == "full:block:0") {
        row.recompute = "none";
    } else if (said == "selective" || said == "selective(attn)") {
        row.recompute = "selective";
    } else if (said == "full" || said == "full:uniform:1") {
        row.recompute = "full";
    } else if (constexpr std::string_view block = "full:block:"; said.starts_with(block)) {
        std::int64_t layers = 0;
        std::from_chars(said.data() + block.size(), said.data() + said.size(), layers);
        if (layers == 0 || row.layers == 0 || layers * std::max<std::int64_t>(row.pipeline, 1) < row.layers) {
            return "only some layers are recomputed, for which there is no policy";
        }
        row.recompute = "full";
    } else {
        return fmt::format("there is no policy that recomputes what `{}` says", said.substr(0, 60));
    }
    return "";
}

}  // namespace

bool is_plan_table(const Columns& columns) {
    const auto has = [&](std::string_view name) { return find_column(columns, {name}).has_value(); };
    return has("measured") && has("task") && has("sharding") && has("vpp") && has("sp") && has("overlap");
}

std::string why_no_step(const Columns& columns, const TableFields& fields) {
    const std::string measured = lowered_text(columns, fields, "measured");
    if (holds(measured, "predicted")) return "its time is the prediction of another tool";
    if (measured != "yes") return "it is a plan that was not measured";
    const std::string task = lowered_text(columns, fields, "task");
    if (task == "peft") return "the table does not say which parameters were trained (PEFT)";
    constexpr std::string_view known[] = {"pretrain", "pre_train", "sft", "finetune", "lora", "lora-sft", ""};
    if (std::find(std::begin(known), std::end(known), task) == std::end(known)) {
        return fmt::format("the task `{}` is not known", task.substr(0, 40));
    }
    return "";
}

Status read_plan_columns(const Columns& columns, const TableFields& fields, MeasuredTraining& row, std::string& skip) {
    struct Count {
        std::string_view name;
        std::int64_t MeasuredTraining::* field;
    };
    constexpr Count counts[] = {{"vpp", &MeasuredTraining::chunks},
                                {"etp", &MeasuredTraining::expert_tensor},
                                {"experts", &MeasuredTraining::experts},
                                {"moe_ffn", &MeasuredTraining::expert_ffn}};
    for (const Count& each : counts) {
        const auto at = find_column(columns, {each.name});
        if (!at) continue;
        ROOFLINE_TRY(row.*each.field, fields.whole(*at));
    }
    row.chunks = std::max<std::int64_t>(row.chunks, 1);
    row.lora = lowered_text(columns, fields, "task").starts_with("lora");
    const std::string split_tokens = lowered_text(columns, fields, "sp");
    row.whole_tokens = row.tensor > 1 && (split_tokens == "false" || split_tokens == "0");
    read_overlap(lowered_text(columns, fields, "overlap"), row);
    if (holds(row.sharding, "zero-1") || holds(row.sharding, "dist-opt")) row.sharding = "zero1";
    // two configurations of which the log does not say which one ran, or a log that does not say its dtype
    if (holds(row.dtype, " or ") || holds(row.dtype, "unknown")) {
        skip = fmt::format("the dtype is not certain: `{}`", row.dtype.substr(0, 60));
        return {};
    }
    if (const std::string schedule = lowered_text(columns, fields, "schedule"); holds(schedule, "dualpipe")) {
        skip = "the schedule DualPipe is not priced";
        return {};
    }
    if (holds(row.notes, "CARRIED OVER")) {
        skip = "the publisher carried over the measurement of an earlier row";
        return {};
    }
    skip = read_recompute(row);
    return {};
}

}  // namespace roofline::core
