#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include "base/ascii.hpp"
#include "import/expert_load.hpp"
#include "import/kernel_reader.hpp"
#include "import/tuned_experts.hpp"

namespace roofline::core {

namespace {

class ExpertReader : public KernelReader {
public:
    using KernelReader::KernelReader;

    Status read(MeasuredKernel& row, std::string& skip) override {
        row.dtype = lowered(text("dtype"));
        if (text("moe_tp").empty() && text("moe_ep").empty() && lowered(text("routing")).starts_with("tuner"))
            return read_tuned(row, skip);
        std::int64_t size[7];
        std::size_t i = 0;
        for (const char* column : {"tokens", "hidden", "inter", "topk", "experts", "moe_tp", "moe_ep"}) {
            ROOFLINE_TRY(const auto value, whole(column, skip));
            size[i++] = value;
        }
        const auto [tokens, hidden, inter, choices, experts, tensor, ranks] =
            std::tie(size[0], size[1], size[2], size[3], size[4], size[5], size[6]);
        row.operation = "experts";
        const std::string routing = lowered(text("routing"));
        const auto load = load_of({tokens, choices, experts, ranks}, routing, is_of_first_tool(row), skip);
        if (load && load->rows < 1 && skip.empty())
            skip =
                "no expert of the rank is chosen: the number of experts is not a multiple of moe_ep, or is smaller "
                "than topk";
        if (skip.empty() && inter % tensor != 0) skip = "inter is not a multiple of moe_tp";
        const std::string gated_text = lowered(text("gated"));
        if (!gated_text.empty() && gated_text != "yes" && gated_text != "no" && skip.empty())
            skip = "gated is neither yes nor no";
        const bool gated = gated_text.empty() ? is_gated(row, hidden, inter, choices, experts) : gated_text == "yes";
        Operands of = operands_of(row, skip);
        of.gated = gated;
        if (of.block_scaled && row.variant.empty()) row.variant = find_quantised(row.dtype)->variant;
        // libraries tune kernels for gated experts; in SGLang, others take three times as long as their bytes suggest
        if (!gated && row.variant.empty()) row.variant = "ungated";
        const bool all = works_on_all(row.software);
        if (!load || !skip.empty()) {
            row.program = all ? unfused_program(of, false) : fused_program(of);
            return {};
        }
        const std::int64_t all_rows = tokens * choices;
        const std::int64_t rows = multiplies_all(row, of) ? all_rows : load->rows;
        const std::int64_t of_expert = std::max<std::int64_t>(1, rows / load->experts);
        const std::int64_t others = all_rows - std::min(all_rows, of_expert * load->experts);
        const bool zeros = writes_zeros(row, of) && others > 0;
        row.program = all ? unfused_program(of, zeros) : fused_program(of);
        row.sizes = {{"T", tokens},        all ? std::pair{"P", all_rows} : std::pair{"U", std::min(tokens, rows)},
                     {"A", choices},       {"E", load->experts},
                     {"C", of_expert},     {"D", hidden},
                     {"I", inter / tensor}};
        if (zeros) row.sizes.emplace_back("O", others);
        return {};
    }

private:
    /// A row of a tuner that chose the tokens' experts at random, on a rank that has all experts.
    Status read_tuned(MeasuredKernel& row, std::string& skip) const {
        TunedExperts sizes;
        ROOFLINE_TRY(sizes.tokens, whole("tokens", skip));
        ROOFLINE_TRY(sizes.hidden, whole("hidden", skip));
        ROOFLINE_TRY(sizes.inter, whole("inter", skip));
        ROOFLINE_TRY(sizes.choices, whole("topk", skip));
        ROOFLINE_TRY(sizes.experts, whole("experts", skip));
        set_tuned_experts(sizes, fields_.text(find_column(columns_, {"note", "notes"})), row, skip);
        return {};
    }

    /// Returns true for the tool that timed vLLM 0.14: it assigned the remainder of rounding to one rank and gated all
    /// experts. Later versions of the tool do neither.
    static bool is_of_first_tool(const MeasuredKernel& row) {
        return row.source.starts_with("aic:") && row.software == "vllm 0.14.0";
    }

    /// Returns whether experts are gated, if no column says so: sizes like these belong to models (Nemotron 3) whose
    /// experts square a rectified result instead of gating it.
    static bool is_gated(const MeasuredKernel& row, std::int64_t hidden, std::int64_t inter, std::int64_t choices,
                         std::int64_t experts) {
        const bool rectified = (hidden == 2688 && inter == 1856) || (choices == 22 && experts == 512);
        return !rectified || is_of_first_tool(row);
    }

    /// The load for a rule such as "balanced" and "power_law_1.2".
    std::optional<ExpertLoad> load_of(const Routing& routing, const std::string& rule, bool first_tool,
                                      std::string& skip) {
        constexpr std::string_view power = "power_law_";
        if (!skip.empty()) return std::nullopt;
        if (rule.empty() || rule == "balanced") return balanced_load(routing);
        double alpha = 0;
        const char* const end = rule.data() + rule.size();
        if (rule.starts_with(power)) {
            const auto [next, error] = std::from_chars(rule.data() + power.size(), end, alpha);
            if (error == std::errc{} && next == end && alpha > 0 && alpha <= 10) {
                const auto [at, added] = loads_.try_emplace({routing, alpha, first_tool});
                if (added) at->second = power_law_load(routing, alpha, !first_tool);
                return at->second;
            }
        }
        skip = fmt::format("the routing {} is unknown: balanced and power_law_1.2 are supported", in_ticks(rule));
        return std::nullopt;
    }

    /// Dtypes of the matmuls' operands.
    struct Operands {
        std::string plain;        ///< of tokens before and after the layer
        std::string activations;  ///< of activations in the matmuls
        std::string weights;
        bool gated = true;
        bool block_scaled = false;
    };
    static Operands operands_of(const MeasuredKernel& row, std::string& skip) {
        const Quantised* const known = find_quantised(row.dtype);
        Operands of;
        of.plain = known == nullptr ? dtype(row.dtype, skip) : "bf16";
        of.activations = known == nullptr || known->activations.empty() ? of.plain : std::string(known->activations);
        of.weights = known == nullptr ? of.plain : std::string(known->weights);
        of.block_scaled = known != nullptr && !known->variant.empty();
        return of;
    }

    /// A program in which tokens are dispatched to their experts, one kernel computes gate and up projections with the
    /// function between them, another the down projection, and the results are combined. Quantised formats quantise the
    /// tokens before the dispatch, and the result of the function; with block scales, each by a separate kernel.
    static std::string fused_program(const Operands& of) {
        const bool quantises = of.activations != of.plain;
        const bool separate = quantises && of.block_scaled;
        std::string text = fmt::format("X : {}[U, D]\nIds : int32[U, A]\nShare : f32[T, A]\n", of.plain);
        if (of.gated) text += fmt::format("param Wg : {}[E, D, I]\n", of.weights);
        text += fmt::format("param Wu : {0}[E, D, I]\nparam Wd : {0}[E, I, D]\n", of.weights);
        if (quantises && !separate) text += fmt::format("Q : {}[U, D] = X\n", of.activations);
        text += fmt::format("Xe : {}[E, C, D] = dispatch[E,C]({}, Ids)\n", separate ? of.plain : of.activations,
                            quantises && !separate ? "Q" : "X");
        if (separate) text += fmt::format("Qe : {}[E, C, D] = Xe\n", of.activations);
        const char* in = separate ? "Qe" : "Xe";
        text += fmt::format("He : {}[E, C, I] = ", separate ? of.plain : of.activations);
        text += of.gated ? fmt::format("silu({0} *_D Wg) * ({0} *_D Wu)\n", in) : fmt::format("relu2({} *_D Wu)\n", in);
        if (separate) text += fmt::format("Qh : {}[E, C, I] = He\n", of.activations);
        text += fmt::format("Ye : {}[E, C, D] = {} *_I Wd\n", of.plain, separate ? "Qh" : "He");
        return text + fmt::format("M : {}[T, D] = combine[E,C,A](Ye, Share)\n", of.plain);
    }

    /// A program in which the matmuls gather their own rows, and the function, its quantisation and the sum are kernels
    /// over P, the choices of all tokens. Choices of other ranks' experts give zeros; with `zeros` the matmuls write
    /// these (O).
    static std::string unfused_program(const Operands& of, bool zeros) {
        const bool quantises = of.activations != of.plain;
        std::string text = fmt::format("X : {}[T, D]\nIds : int32[T, A]\n", of.plain);
        if (of.gated) text += fmt::format("param Wg : {}[E, D, I]\n", of.weights);
        text += fmt::format("param Wu : {0}[E, D, I]\nparam Wd : {0}[E, I, D]\n", of.weights);
        if (quantises) text += fmt::format("Q : {}[T, D] = X\n", of.activations);
        if (zeros) text += fmt::format("zero : {}[]\n", of.plain);
        text +=
            fmt::format("fuse {{\n Xe : {}[E, C, D] = dispatch[E,C]({}, Ids)\n", of.activations, quantises ? "Q" : "X");
        if (of.gated) text += fmt::format(" Ge : {}[E, C, I] = Xe *_D Wg\n", of.plain);
        text += fmt::format(" Ue : {}[E, C, I] = Xe *_D Wu\n", of.plain);
        if (zeros && of.gated) text += fmt::format(" Go : {}[O, I] = expand[O,I](zero)\n", of.plain);
        if (zeros) text += fmt::format(" Uo : {}[O, I] = expand[O,I](zero)\n", of.plain);
        text += "}\n";
        if (of.gated) text += fmt::format("Ga : {}[P, I]\n", of.plain);
        text +=
            fmt::format("Ua : {0}[P, I]\nHa : {0}[P, I] = {1}\n", of.plain, of.gated ? "silu(Ga) * Ua" : "relu2(Ua)");
        if (quantises) text += fmt::format("Qa : {}[P, I] = Ha\n", of.activations);
        text += fmt::format("He : {}[E, C, I]\nfuse {{\n Ye : {}[E, C, D] = He *_I Wd\n", of.activations, of.plain);
        if (zeros) text += fmt::format(" Yo : {}[O, D] = expand[O,D](zero)\n", of.plain);
        text += "}\n";
        return text + fmt::format("Ya : {0}[T, A, D]\nM : {0}[T, D] = sum[A](Ya)\n", of.plain);
    }

    /// The matmuls of vLLM's own kernels write zeros for choices of other ranks' experts; kernels for mxfp4 weights are
    /// different.
    static bool writes_zeros(const MeasuredKernel& row, const Operands& of) {
        return row.software.starts_with("vllm") && of.weights != "mxfp4";
    }

    /// With block scales, TensorRT-LLM on workstation cards multiplies all choices, whatever rank has their experts:
    /// counting all of them gives 130 to 190 TFLOP/s for every number of ranks.
    static bool multiplies_all(const MeasuredKernel& row, const Operands& of) {
        return of.block_scaled && row.software.starts_with("trtllm") && row.system.starts_with("rtx_pro");
    }

    static bool works_on_all(const std::string& software) {
        return software.starts_with("vllm") || software.starts_with("sglang");
    }

    std::map<std::tuple<Routing, double, bool>, ExpertLoad> loads_;
};

}  // namespace

std::unique_ptr<KernelReader> expert_reader(CsvReader& reader) { return std::make_unique<ExpertReader>(reader); }

}  // namespace roofline::core
