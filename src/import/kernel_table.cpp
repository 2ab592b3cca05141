#include "import/kernel_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/ascii.hpp"
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
    }
    return "";
}

class ProductReader : public KernelReader {
public:
    using KernelReader::KernelReader;

    Status read(MeasuredKernel& row, std::string& skip) override {
        row.operation = "matmul";
        for (const auto& [column, dim] : {std::pair{"m", "M"}, std::pair{"n", "N"}, std::pair{"k", "K"}}) {
            ROOFLINE_TRY(const auto size, whole(column, skip));
            row.sizes.emplace_back(dim, size);
        }
        row.dtype = lowered(text("dtype_in"));
        const std::string out = dtype(text("dtype_out"), skip);
        const Quantised* const known = find_quantised(row.dtype);
        if (known != nullptr && row.variant.empty()) row.variant = known->variant;
        if (known == nullptr) {
            const std::string in = dtype(row.dtype, skip);
            row.program = fmt::format("{0}[M, K] * {0}[K, N] -> {1}[M, N]", in, out);
        } else if (known->activations.empty()) {
            row.program = fmt::format("{0}[M, K] * {1}[K, N] -> {0}[M, N]", out, known->weights);
        } else {
            row.program = fmt::format("X : {0}[M, K]\nW : {2}[K, N]\nQ : {1}[M, K] = X\nC : {0}[M, N] = Q * W\n", out,
                                      known->activations, known->weights);
        }
        return {};
    }
};

struct Elementwise {
    std::string_view name;
    std::string_view expression;  ///< over X, over Y if there are two operands, over rows `ids` of X
    std::string_view operation;
    int operands_in_row = 1;  ///< operands that the shape has side by side
};
constexpr Elementwise elementwise[] = {
    {"softmax", "softmax[C](X)", "softmax"},
    {"layernorm", "norm[C](X)", "norm"},
    {"rmsnorm", "norm[C](X)", "norm"},
    {"norm", "norm[C](X)", "norm"},
    {"input_layernorm", "norm[C](X)", "norm"},
    {"post_layernorm", "norm[C](X)", "norm"},
    {"final_layernorm", "norm[C](X)", "norm"},
    {"gelu", "gelu(X)", "gelu"},
    {"silu", "silu(X)", "silu"},
    {"relu", "relu(X)", "relu"},
    {"exp", "exp(X)", "exp"},
    {"mlp_act", "silu(X) * Y", "mlp_act"},
    {"act_fn", "silu(X) * Y", "mlp_act", 2},
    {"rope", "rope(X)", "rope"},
    {"attn_rope", "rope(X)", "rope"},
    {"rotary_emb", "rope(X)", "rope"},
    {"embedding", "gather[V](X, ids)", "embedding"},
    {"emb", "gather[V](X, ids)", "embedding"},
    {"add", "X + Y", "add"},
    {"mul", "X * Y", "mul"},
    {"fp8_quant_static", "X", "fp8_quant_static"},
    {"amax", "max[R, C](X)", "amax"},
    {"fp8_compute_scale", "max[R, C](X)", "amax"},
};

class ElementwiseReader : public KernelReader {
public:
    using KernelReader::KernelReader;

    Status read(MeasuredKernel& row, std::string& skip) override {
        const std::string op = lowered(text("op"));
        row.operation = op;
        row.dtype = lowered(text("dtype"));
        const auto known = std::find_if(std::begin(elementwise), std::end(elementwise),
                                        [&](const Elementwise& each) { return each.name == op; });
        if (known == std::end(elementwise)) {
            skip = fmt::format("the operation {} is unknown", in_ticks(op));
            return {};
        }
        row.operation = known->operation;
        read_shape(row, *known, skip);
        const std::size_t arrow = row.dtype.find("->");
        const std::string in = dtype(std::string_view(row.dtype).substr(0, arrow), skip);
        const std::string out =
            arrow == std::string::npos ? in : dtype(std::string_view(row.dtype).substr(arrow + 2), skip);
        const auto has = [&](std::string_view part) { return known->expression.find(part) != std::string_view::npos; };
        std::string operands = fmt::format("X : {}[{}, C]\n", in, has("ids") ? "V" : "R");
        if (has("Y")) operands += fmt::format("Y : {}[R, C]\n", in);
        if (has("ids")) operands += "ids : int32[R]\n";
        const bool one = has("max[R, C]");  // one number for the whole tensor
        row.program =
            fmt::format("{}Z : {} = {}\n", operands, one ? "f32[]" : fmt::format("{}[R, C]", out), known->expression);
        return {};
    }

private:
    /// "4096x64" means rows and columns, "2x4096x64" as many rows as the product of the first two, "262144" one row.
    void read_shape(MeasuredKernel& row, const Elementwise& known, std::string& skip) const {
        const std::string_view shape = text("shape");
        std::int64_t rows = 1;
        std::int64_t columns = 1;
        const char* at = shape.data();
        const char* const end = shape.data() + shape.size();
        for (bool first = true; at != end || first; first = false) {
            std::int64_t size = 0;
            const auto [next, error] = std::from_chars(at, end, size);
            if (error != std::errc{} || size < 1 || __builtin_mul_overflow(rows, columns, &rows) ||
                (next != end && (*next != 'x' || next + 1 == end))) {
                if (skip.empty())
                    skip = shape.empty() ? "shape is empty" : "the shape is invalid: write it like 4096x64";
                return;
            }
            columns = size;
            at = next == end ? end : next + 1;
        }
        if (columns % known.operands_in_row != 0 && skip.empty()) skip = "a row is not divisible into its operands";
        row.sizes = {{"R", rows}, {"C", columns / known.operands_in_row}};
        // only one row per index is read of a table, however many rows it has
        if (known.operation == "embedding") row.sizes.emplace_back("V", rows);
    }
};

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
    row.source = fields.text(find_column(columns, {"source"}));
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

}  // namespace

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
    if (is_product_table(reader.header())) {
        ProductReader kind(reader);
        return read_rows(reader, kind);
    }
    ElementwiseReader kind(reader);
    return read_rows(reader, kind);
}

}  // namespace roofline::core
