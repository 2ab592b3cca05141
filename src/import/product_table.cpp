// Rows of matmuls: plain ones, gated units, and one per group.
#include <algorithm>
#include <tuple>

#include "base/ascii.hpp"
#include "import/kernel_notes.hpp"
#include "import/kernel_reader.hpp"

namespace roofline::core {

namespace {

class ProductReader : public KernelReader {
public:
    using KernelReader::KernelReader;

    Status read(MeasuredKernel& row, std::string& skip) override {
        std::int64_t size[3];
        std::size_t i = 0;
        for (const char* column : {"m", "n", "k"}) {
            ROOFLINE_TRY(size[i++], whole(column, skip));
        }
        const Sizes3 sizes{size[0], size[1], size[2]};
        row.operation = "matmul";
        row.dtype = lowered(text("dtype_in"));
        const Operands of = operands_of(row, skip);
        // files of the tuner that had only Triton's kernels to choose from have several times the others' times
        if (note_value(note_text(), "lib=") == "triton") row.variant += row.variant.empty() ? "triton" : ", triton";
        if (const auto at = find_column(columns_, {"groups"})) {
            ROOFLINE_TRY(const auto groups, fields_.whole(*at));
            if (groups > 0) {
                read_groups(row, of, sizes, groups, skip);
                return {};
            }
        }
        const std::string_view note = note_text();
        if (holds(note, "fused gated unit")) {
            read_gated(row, of, sizes, skip);
            return {};
        }
        row.sizes = {{"M", sizes.m}, {"N", sizes.n}, {"K", sizes.k}};
        row.program = plain(of);
        return {};
    }

private:
    struct Sizes3 {
        std::int64_t m;
        std::int64_t n;
        std::int64_t k;
    };
    /// Dtypes of a product, as the notation names them.
    struct Operands {
        std::string rows;      ///< of the rows that the matrix unit multiplies
        std::string weights;   ///< of the other operand
        std::string out;       ///< of the result
        std::string unwanted;  ///< of rows that a separate kernel quantises first; "" without one
        std::string passes;    ///< " using bf16" where fewer passes are made than the operands' dtype needs
    };

    [[nodiscard]] std::string_view note_text() const { return fields_.text(find_column(columns_, {"note", "notes"})); }

    [[nodiscard]] Operands operands_of(MeasuredKernel& row, std::string& skip) const {
        Operands of;
        of.out = dtype(text("dtype_out"), skip);
        const Quantised* const known = find_quantised(row.dtype);
        if (known == nullptr) {
            of.rows = of.weights = dtype(row.dtype, skip);
            of.passes = default_passes(row, of.rows);
            return of;
        }
        if (row.variant.empty()) row.variant = known->variant;
        of.weights = known->weights;
        of.rows = known->activations.empty() ? of.out : std::string(known->activations);
        if (!known->activations.empty() && !takes_narrow_operands(row.software)) of.unwanted = of.out;
        return of;
    }

    static std::string plain(const Operands& of) {
        if (!of.unwanted.empty()) {
            return fmt::format("X : {0}[M, K]\nW : {2}[K, N]\nQ : {1}[M, K] = X\nC : {3}[M, N] = Q * W\n", of.unwanted,
                               of.rows, of.weights, of.out);
        }
        if (of.passes.empty()) return fmt::format("{}[M, K] * {}[K, N] -> {}[M, N]", of.rows, of.weights, of.out);
        return fmt::format("X : {}[M, K]\nW : {}[K, N]\nC : {}[M, N] = X * W{}\n", of.rows, of.weights, of.out,
                           of.passes);
    }

    /// Two products of the same rows, the function and their product are one kernel: `n` counts the columns of both
    /// halves, and the result has those of one.
    static void read_gated(MeasuredKernel& row, const Operands& of, const Sizes3& sizes, std::string& skip) {
        if (sizes.n % 2 != 0 && skip.empty()) skip = "n of a gated unit counts both halves, so it must be even";
        row.operation = "gated_unit";
        row.variant = "gated";
        row.sizes = {{"M", sizes.m}, {"N", sizes.n / 2}, {"K", sizes.k}};
        row.program = fmt::format(
            "X : {0}[M, K]\nWg : {1}[K, N]\nWu : {1}[K, N]\nC : {2}[M, N] = silu(X *_K Wg) * (X *_K Wu){3}\n", of.rows,
            of.weights, of.out, of.passes);
    }

    /// Rows that are sorted by group, each of whose groups has weights of its own. Where no note says that the groups
    /// share the rows, `m` are those of one group: a batch of products.
    void read_groups(MeasuredKernel& row, const Operands& of, const Sizes3& sizes, std::int64_t groups,
                     std::string& skip) const {
        const std::string_view note = note_text();
        row.operation = "grouped_matmul";
        if (!holds(note, "ragged")) {
            row.operation = "batched_matmul";
            row.sizes = {{"G", groups}, {"M", sizes.m}, {"N", sizes.n}, {"K", sizes.k}};
            row.program = fmt::format("X : {}[G, M, K]\nW : {}[G, K, N]\nC : {}[G, M, N] = X * W{}\n", of.rows,
                                      of.weights, of.out, of.passes);
            return;
        }
        if (holds(note, "groups skewed") && skip.empty())
            skip = "the groups are skewed, and the table does not say how";
        // a weight gradient sums over the rows of each group
        const bool gradient = holds(note, "weight gradient");
        const std::int64_t rows = gradient ? sizes.k : sizes.m;
        if (rows % groups != 0 && skip.empty()) skip = "the number of rows is not divisible by the number of groups";
        const std::int64_t each = std::max<std::int64_t>(1, rows / groups);
        const auto variant_of = [&](std::string_view kind) {
            row.variant += (row.variant.empty() ? "" : ", ") + std::string(kind);
        };
        // dispatched rows of one choice each: the group's rows are read in place
        if (gradient) {
            variant_of("weight gradient");
            row.operation = "grouped_gradient";
            row.sizes = {{"R", rows}, {"A", 1}, {"G", groups}, {"C", each}, {"M", sizes.m}, {"N", sizes.n}};
            row.program = fmt::format(
                "X : {0}[R, M]\nY : {0}[R, N]\nIds : int32[R, A]\nfuse {{\n Xe : {0}[G, C, M] = dispatch[G,C](X, "
                "Ids)\n Ye : {0}[G, C, N] = dispatch[G,C](Y, Ids)\n W : {1}[G, M, N] = Xe *_C Ye{2}\n}}\n",
                of.rows, of.out, of.passes);
            return;
        }
        const bool transposed = holds(note, "preferred=");
        if (transposed) variant_of("transposed");
        // the result itself is the residual, so a second kernel copies it
        const bool copied = holds(note, "residuals=True");
        row.sizes = {{"R", rows}, {"A", 1}, {"G", groups}, {"C", each}, {"K", sizes.k}, {"N", sizes.n}};
        row.program = fmt::format(
            "X : {0}[R, K]\nIds : int32[R, A]\nW : {1}[G, {5}]\nfuse {{\n Xe : {0}[G, C, K] = dispatch[G,C](X, Ids)\n "
            "Y : {2}[G, C, N] = Xe *_K W{3}\n}}\n{4}",
            of.rows, of.weights, of.out, of.passes, copied ? fmt::format("Z : {}[G, C, N] = copy(Y)\n", of.out) : "",
            transposed ? "N, K" : "K, N");
    }
};

}  // namespace

std::unique_ptr<KernelReader> product_reader(CsvReader& reader) { return std::make_unique<ProductReader>(reader); }

}  // namespace roofline::core
