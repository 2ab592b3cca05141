#include "import/kernel_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/ascii.hpp"
#include "import/measurement_notes.hpp"
#include "units/dtype.hpp"

namespace roofline {

namespace {

using Columns = std::vector<std::string>;

bool has_all(const Columns& columns, std::initializer_list<std::string_view> names) {
    return std::all_of(names.begin(), names.end(), [&](auto name) { return find_column(columns, {name}).has_value(); });
}

/// Software that serves alone does not say how a kernel was launched.
std::string launch_in(std::string_view note) {
    for (const std::string& word : note_words(note)) {
        if (word == "graph" || word == "eager") return word;
        if (word == "wallclock" || word == "wall") return "wall clock";
        if (word == "launch-inclusive") return "eager";
    }
    return "";
}

/// Of a row's kind: what it computes. Empty, with a reason in `skip`, when it cannot be said.
class KernelReader {
public:
    explicit KernelReader(CsvReader& reader) : columns_(reader.header()), fields_(reader) {}
    virtual ~KernelReader() = default;
    KernelReader(const KernelReader&) = delete;
    KernelReader& operator=(const KernelReader&) = delete;

    virtual Status read(MeasuredKernel& row, std::string& skip) = 0;

protected:
    [[nodiscard]] std::string_view text(std::string_view column) const {
        return fields_.text(find_column(columns_, {column}));
    }
    /// Of a column that is there; an empty field is a reason to skip the row.
    Result<std::int64_t> whole(std::string_view column, std::string& skip) const {
        const auto value = fields_.whole(*find_column(columns_, {column}));
        if (value && *value == 0 && skip.empty()) skip = fmt::format("{} is empty", column);
        return value;
    }
    /// The notation's name of a dtype, "" and a reason for one that there is not.
    [[nodiscard]] static std::string dtype(std::string_view text, std::string& skip) {
        if (const auto found = find_dtype(text)) return std::string(name(*found));
        if (skip.empty()) skip = fmt::format("the dtype {} is not known", quoted(text));
        return "";
    }

    const Columns& columns_;
    TableFields fields_;
};

struct Quantised {
    std::string_view name;
    std::string_view dtype;
    bool activations;  ///< are quantised first, a kernel of their own; else the weights alone
};
constexpr Quantised quantised[] = {
    {"fp8", "fp8", true},       {"fp8_block", "fp8", true}, {"nvfp4", "nvfp4", true},
    {"mxfp4", "mxfp4", true},   {"int8_wo", "int8", false}, {"int8_smoothquant", "int8", true},
    {"int4_wo", "int4", false},
};

class ProductReader : public KernelReader {
public:
    using KernelReader::KernelReader;

    Status read(MeasuredKernel& row, std::string& skip) override {
        row.operation = "matmul";
        for (const auto& [column, dim] : {std::pair{"m", "M"}, std::pair{"n", "N"}, std::pair{"k", "K"}}) {
            const auto size = whole(column, skip);
            if (!size) return fail(size.error());
            row.sizes.emplace_back(dim, *size);
        }
        row.dtype = lowered(text("dtype_in"));
        const std::string out = dtype(text("dtype_out"), skip);
        const auto known = std::find_if(std::begin(quantised), std::end(quantised),
                                        [&](const Quantised& each) { return each.name == row.dtype; });
        if (known == std::end(quantised)) {
            const std::string in = dtype(row.dtype, skip);
            row.program = fmt::format("{0}[M, K] * {0}[K, N] -> {1}[M, N]", in, out);
        } else if (!known->activations) {
            row.program = fmt::format("{0}[M, K] * {1}[K, N] -> {0}[M, N]", out, known->dtype);
        } else {
            row.program = fmt::format("X : {0}[M, K]\nW : {1}[K, N]\nQ : {1}[M, K] = X\nC : {0}[M, N] = Q * W\n", out,
                                      known->dtype);
        }
        return {};
    }
};

struct Elementwise {
    std::string_view name;
    std::string_view expression;  ///< of X, and of Y where it has two operands
    std::string_view operation;
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
            skip = fmt::format("the operation {} is not known", quoted(op));
            return {};
        }
        row.operation = known->operation;
        read_shape(row, skip);
        const std::size_t arrow = row.dtype.find("->");
        const std::string in = dtype(std::string_view(row.dtype).substr(0, arrow), skip);
        const std::string out =
            arrow == std::string::npos ? in : dtype(std::string_view(row.dtype).substr(arrow + 2), skip);
        const bool two = known->expression.find('Y') != std::string_view::npos;
        const bool one = known->expression.starts_with("max[R, C]");  // number for all of the tensor
        row.program = fmt::format("X : {}[R, C]\n{}Z : {} = {}\n", in, two ? fmt::format("Y : {}[R, C]\n", in) : "",
                                  one ? "f32[]" : fmt::format("{}[R, C]", out), known->expression);
        return {};
    }

private:
    /// "4096x64" is rows and columns, "2x4096x64" as many rows as the first two make, "262144" one row.
    void read_shape(MeasuredKernel& row, std::string& skip) const {
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
                if (skip.empty()) skip = shape.empty() ? "shape is empty" : "the shape is none: 4096x64 is one";
                return;
            }
            columns = size;
            at = next == end ? end : next + 1;
        }
        row.sizes = {{"R", rows}, {"C", columns}};
    }
};

class AttentionReader : public KernelReader {
public:
    using KernelReader::KernelReader;

    Status read(MeasuredKernel& row, std::string& skip) override {
        const std::string phase = lowered(text("phase"));
        const bool decode = phase == "decode" || phase == "mla_decode";
        const bool latent = phase.starts_with("mla_");
        if (!decode && phase != "prefill" && phase != "mla_prefill") {
            skip = fmt::format("the phase {} is not known", quoted(phase));
            return {};
        }
        row.operation = (latent ? "mla_" : "attention_") + std::string(decode ? "decode" : "prefill");
        if (phase == "mla_prefill") {
            skip = "a latent prefill: how wide the heads are that latents are expanded to is not said";
            return {};
        }
        std::int64_t size[6];
        std::size_t i = 0;
        for (const char* column : {"batch", "q_len", "kv_len", "heads", "kv_heads", "head_dim"}) {
            const auto value = whole(column, skip);
            if (!value) return fail(value.error());
            size[i++] = *value;
        }
        const auto [batch, queries, keys, heads, kv_heads, head_dim] =
            std::tie(size[0], size[1], size[2], size[3], size[4], size[5]);
        if (auto status = read_window(keys, decode, size[2], skip); !status) return status;
        if (!skip.empty()) return {};
        if (heads % kv_heads != 0) skip = "heads are no multiple of kv_heads";
        if (!decode && queries != keys) skip = "a prefill behind a cache (kv_len is not q_len)";
        constexpr std::int64_t rope = 64;  // of a latent head's dimensions: they are in keys alone
        if (latent && (head_dim <= rope || kv_heads != 1)) skip = "mla has one latent head of more than 64 dimensions";
        row.dtype = lowered(text("dtype"));
        const std::string q = dtype(row.dtype, skip);
        const std::string_view kv_text = text("kv_dtype");
        const std::string kv = kv_text.empty() ? q : dtype(kv_text, skip);
        if (!kv_text.empty() && kv != q) row.dtype += fmt::format(", kv {}", lowered(kv_text));
        if (!skip.empty()) return {};
        row.sizes = {{"B", batch}, {"T", queries}, {"S", size[2]}};
        if (latent) {
            row.sizes.insert(row.sizes.end(), {{"N", heads}, {"L", head_dim - rope}, {"R", rope}});
            row.program = latent_program(q, kv);
        } else {
            row.sizes.insert(row.sizes.end(), {{"K", kv_heads}, {"G", heads / kv_heads}, {"H", head_dim}});
            row.program = program(q, kv, !decode);
        }
        return {};
    }

private:
    /// Of a decode step no more than the window is read; a prefill that is longer than its window has a mask of its own.
    Status read_window(std::int64_t keys, bool decode, std::int64_t& seen, std::string& skip) const {
        const auto at = find_column(columns_, {"window"});
        const std::string_view window_text = fields_.text(at);
        if (window_text.empty() || window_text == "0") return {};
        const auto window = fields_.whole(*at);
        if (!window) return fail(window.error());
        if (*window >= keys) return {};
        if (decode) {
            seen = *window;
        } else if (skip.empty()) {
            skip = "a prefill longer than its window";
        }
        return {};
    }

    static std::string masked(std::string_view scores, bool causal) {
        return causal ? fmt::format("causal[T, S]({})", scores) : std::string(scores);
    }

    static std::string program(const std::string& q, const std::string& kv, bool causal) {
        const std::string out = q == "bf16" || q == "f16" || q == "f32" ? q : "bf16";
        return fmt::format(
            "Q : {0}[B, K, G, T, H]\nA : {1}[B, K, S, H]\nV : {1}[B, K, S, H]\n"
            "fuse {{\n P : {0}[B, K, G, T, S] = softmax[S]({2})\n O : {3}[B, K, G, T, H] = P * V\n}}\n",
            q, kv, masked("Q * A", causal), out);
    }

    /// Latents are keys and values at once.
    static std::string latent_program(const std::string& q, const std::string& kv) {
        const std::string out = q == "bf16" || q == "f16" || q == "f32" ? q : "bf16";
        return fmt::format(
            "Q : {0}[B, N, T, L]\nE : {0}[B, N, T, R]\nA : {1}[B, S, L]\nF : {1}[B, S, R]\n"
            "fuse {{\n P : {0}[B, N, T, S] = softmax[S]((Q *_L A) + (E *_R F))\n O : {2}[B, N, T, L] = P * A\n}}\n",
            q, kv, out);
    }
};

bool is_product_table(const Columns& columns) { return has_all(columns, {"m", "n", "k", "dtype_in", "dtype_out"}); }
bool is_elementwise_table(const Columns& columns) { return has_all(columns, {"op", "shape", "dtype"}); }
bool is_attention_table(const Columns& columns) {
    return has_all(columns, {"phase", "batch", "q_len", "kv_len", "heads", "kv_heads", "head_dim", "dtype"});
}

/// What all kinds of rows have.
Status read_shared(const Columns& columns, const TableFields& fields, MeasuredKernel& row, std::string& skip) {
    row.source = fields.text(find_column(columns, {"source"}));
    row.system = fields.text(find_column(columns, {"accelerator", "system"}));
    const auto time = fields.seconds(time_columns(columns));
    if (!time) return fail(time.error());
    row.time_s = *time;
    if (row.system.empty()) skip = "the accelerator is empty";
    if (!(*time > 0)) skip = "it has no time";
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
    KernelTable table;
    const TableFields fields(reader);
    while (true) {
        const auto more = reader.next();
        if (!more) return fail(more.error());
        if (!*more) return table;
        MeasuredKernel row;
        row.line = reader.line();
        std::string skip;
        if (auto status = read_shared(reader.header(), fields, row, skip); !status) return fail(status.error());
        if (auto status = kind.read(row, skip); !status) return fail(status.error());
        if (skip.empty()) {
            table.rows.push_back(std::move(row));
        } else {
            table.skipped.push_back({row.line, std::move(skip)});
        }
    }
}

}  // namespace

std::string MeasuredKernel::shape() const {
    std::vector<std::string> parts;
    for (const auto& [dim, size] : sizes) parts.push_back(fmt::format("{}={}", dim, size));
    return fmt::format("{}", fmt::join(parts, ", "));
}

bool is_kernel_table(const Columns& columns) {
    return (is_product_table(columns) || is_elementwise_table(columns) || is_attention_table(columns)) &&
           find_column(columns, {"accelerator", "system"}) && !time_columns(columns).empty();
}

Result<KernelTable> read_kernel_table(CsvReader& reader) {
    if (is_product_table(reader.header())) {
        ProductReader kind(reader);
        return read_rows(reader, kind);
    }
    if (is_attention_table(reader.header())) {
        AttentionReader kind(reader);
        return read_rows(reader, kind);
    }
    ElementwiseReader kind(reader);
    return read_rows(reader, kind);
}

}  // namespace roofline
