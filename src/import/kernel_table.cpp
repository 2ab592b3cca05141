#include "import/kernel_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/ascii.hpp"
#include "import/kernel_notes.hpp"
#include "import/kernel_reader.hpp"
#include "import/measurement_notes.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

namespace {

using Columns = std::vector<std::string>;

bool has_all(const Columns& columns, std::initializer_list<std::string_view> names) {
    return std::all_of(names.begin(), names.end(), [&](auto name) { return find_column(columns, {name}).has_value(); });
}

/// Launch mode that a note names. Software that always serves in one way does not mention it.
std::string launch_in(std::string_view note) {
    for (const std::string& word : note_words(note)) {
        if (word == "graph" || word == "eager") return word;
        if (word == "wallclock" || word == "wall") return "wall clock";
        if (word == "launch-inclusive") return "eager";
        if (word == "milliseconds") return "wall clock";  // a host's clock: others tell microseconds
    }
    return "";
}

bool is_product_table(const Columns& columns) { return has_all(columns, {"m", "n", "k", "dtype_in", "dtype_out"}); }
bool is_elementwise_table(const Columns& columns) { return has_all(columns, {"op", "shape", "dtype"}); }
bool is_attention_table(const Columns& columns) {
    return has_all(columns, {"phase", "batch", "q_len", "kv_len", "heads", "kv_heads", "head_dim", "dtype"});
}

bool is_expert_table(const Columns& columns) {
    return has_all(columns, {"tokens", "hidden", "inter", "topk", "experts", "moe_tp", "moe_ep", "dtype"});
}

/// Reads the columns that all kinds of rows have.
Status read_shared(const Columns& columns, const TableFields& fields, MeasuredKernel& row, std::string& skip) {
    const std::string_view source = fields.text(find_column(columns, {"source"}));
    row.source = source.substr(0, source.find("#L"));  // thousands of rows of one file have the same source
    row.system = fields.text(find_column(columns, {"accelerator", "system"}));
    ROOFLINE_TRY(const auto time, fields.seconds(time_columns(columns)));
    row.time_s = time;
    if (row.system.empty()) skip = "the accelerator is empty";
    if (!(time > 0)) skip = "the time is empty";
    const std::string_view note = fields.text(find_column(columns, {"note", "notes"}));
    row.rounding_s = clock_rounding_s(note);
    row.variant = launch_in(note);
    for (const std::string_view place :
         {fields.text(find_column(columns, {"lib"})), std::string_view(row.source), note}) {
        if (row.software.empty()) row.software = software_in(place);
    }
    if (const auto timed = implementation_in(row.source, note)) {
        row.software = timed->software;
        if (row.variant.empty()) row.variant = timed->variant;
    }
    return {};
}

Result<KernelTable> read_rows(CsvReader& reader, KernelReader& kind) {
    const TableFields fields(reader);
    return read_table<KernelTable>(reader, [&](std::string& skip) -> Result<MeasuredKernel> {
        MeasuredKernel row;
        row.line = reader.line();
        ROOFLINE_CHECK(read_shared(reader.header(), fields, row, skip));
        ROOFLINE_CHECK(kind.read(row, skip));
        return row;
    });
}

bool on_tpu(const MeasuredKernel& row) { return lowered(row.system).find("tpu") != std::string::npos; }

}  // namespace

std::string default_passes(const MeasuredKernel& row, std::string_view dtype) {
    return on_tpu(row) && dtype == "f32" ? " using bf16" : "";
}

std::string multiplied_dtype(const MeasuredKernel& row, std::string_view dtype) {
    return on_tpu(row) && dtype == "f16" ? "bf16" : std::string(dtype);
}

std::string MeasuredKernel::shape() const {
    std::vector<std::string> parts;
    for (const auto& [dim, size] : sizes) parts.push_back(fmt::format("{}={}", dim, size));
    return fmt::format("{}", fmt::join(parts, ", "));
}

bool is_kernel_table(const Columns& columns) {
    const bool known = is_product_table(columns) || is_elementwise_table(columns) || is_attention_table(columns) ||
                       is_expert_table(columns);
    return known && find_column(columns, {"accelerator", "system"}) && !time_columns(columns).empty();
}

const Quantised* find_quantised(std::string_view name) {
    static constexpr Quantised all[] = {
        {"fp8", "fp8", "fp8"},       {"fp8_block", "fp8", "fp8", "block scales"},
        {"nvfp4", "nvfp4", "nvfp4"}, {"mxfp4", "mxfp4", "mxfp4"},
        {"int8_wo", "", "int8"},     {"int8_smoothquant", "int8", "int8"},
        {"int4_wo", "", "int4"},     {"w4a16_mxfp4", "", "mxfp4"},
        {"w4afp8", "fp8", "int4"},   {"w4a8_mxfp4_mxfp8", "mxfp8", "mxfp4"},
    };
    const auto* const found =
        std::find_if(std::begin(all), std::end(all), [&](const Quantised& each) { return each.name == name; });
    return found == std::end(all) ? nullptr : found;
}

Result<KernelTable> read_kernel_table(CsvReader& reader) {
    if (is_attention_table(reader.header())) return read_rows(reader, *attention_reader(reader));
    if (is_expert_table(reader.header())) return read_rows(reader, *expert_reader(reader));
    if (is_product_table(reader.header())) return read_rows(reader, *product_reader(reader));
    return read_rows(reader, *elementwise_reader(reader));
}

}  // namespace roofline::core
