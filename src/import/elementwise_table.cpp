// Rows of kernels without a matmul, and of a language model's head with its loss.
#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "import/array_operation.hpp"
#include "import/kernel_notes.hpp"
#include "import/kernel_reader.hpp"

namespace roofline::core {

namespace {

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
    {"copy", "copy(X)", "copy"},
    {"norm_backward", "dlayernorm[C](X, Y)", "norm_backward"},
    {"add_layernorm", "layernorm[C](X + Y)", "add_norm"},
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
        if (op.starts_with("linear_softmax_xent")) {
            read_head(row, op.ends_with("_backward"), skip);
            return {};
        }
        if (op.starts_with("model_op:")) {
            skip = "a part of a model whose program the table does not give";
            return {};
        }
        if (const std::string_view shape = text("shape"); is_array_operation(op, shape)) {
            const std::string of = dtype(row.dtype, skip);
            read_array_operation(row, op, shape, of, skip);
            return {};
        }
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
    /// A language model's head with its loss, one kernel: `m` tokens of `k` elements, a vocabulary of `n`.
    void read_head(MeasuredKernel& row, bool backward, std::string& skip) const {
        const std::string_view shape = text("shape");
        row.operation = backward ? "head_backward" : "head_loss";
        for (const auto& [key, dim] : {std::pair{"m=", "M"}, std::pair{"n=", "N"}, std::pair{"k=", "K"}}) {
            const std::string_view digits = note_value(shape, key);
            std::int64_t size = 0;
            const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
            const bool whole = error == std::errc{} && end == digits.data() + digits.size() && size > 0;
            if (!whole && skip.empty()) skip = "the shape is invalid: write it like m=1024,n=4096,k=512";
            row.sizes.emplace_back(dim, size);
        }
        const std::string in = dtype(row.dtype, skip);
        const std::string passes = default_passes(row, in);
        row.variant += row.variant.empty() ? "with loss" : ", with loss";
        const std::string operands =
            fmt::format("X : {0}[M, K]\nW : {0}[K, N]\nLabels : int32[M]\n{1}fuse {{\n L : f32[M, N] = X *_K W{2}\n",
                        in, backward ? "Lse : f32[M]\ndLoss : f32[M]\n" : "", passes);
        // the derivative computes the logits again
        row.program =
            operands + (backward ? fmt::format(" dL : {0}[M, N] = scatteradd[N](Labels, neg(dLoss)) + (exp(L - Lse) * "
                                               "dLoss)\n dX : {0}[M, K] = dL *_N W{1}\n dW : {0}[K, N] = dL *_M "
                                               "X{1}\n}}\n",
                                               in, passes)
                                 : " Lse : f32[M] = logsumexp[N](L)\n Loss : f32[M] = Lse - gather[N](L, Labels)\n}\n");
    }

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
        if (columns % known.operands_in_row != 0 && skip.empty())
            skip = "the length of a row is not divisible by the number of operands";
        row.sizes = {{"R", rows}, {"C", columns / known.operands_in_row}};
        // only one row per index is read of a table, however many rows it has
        if (known.operation == "embedding") row.sizes.emplace_back("V", rows);
    }
};

}  // namespace

std::unique_ptr<KernelReader> elementwise_reader(CsvReader& reader) {
    return std::make_unique<ElementwiseReader>(reader);
}

}  // namespace roofline::core
