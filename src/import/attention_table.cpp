#include <algorithm>
#include <charconv>
#include <tuple>

#include "base/ascii.hpp"
#include "import/kernel_notes.hpp"
#include "import/kernel_reader.hpp"

namespace roofline::core {

namespace {

class AttentionReader : public KernelReader {
public:
    using KernelReader::KernelReader;

    Status read(MeasuredKernel& row, std::string& skip) override {
        const Phase* const phase = find_phase(lowered(text("phase")));
        if (phase == nullptr) {
            skip = fmt::format("the phase {} is unknown", in_ticks(lowered(text("phase"))));
            return {};
        }
        row.operation = phase->operation;
        if (phase->latent && !phase->decode) {
            skip = "a latent prefill: the width of the heads that latents are expanded to is unknown";
            return {};
        }
        std::int64_t size[6];
        std::size_t i = 0;
        for (const char* column : {"batch", "q_len", "kv_len", "heads", "kv_heads", "head_dim"}) {
            ROOFLINE_TRY(const auto value, whole(column, skip));
            size[i++] = value;
        }
        const auto [batch, queries, keys, heads, kv_heads, head_dim] =
            std::tie(size[0], size[1], size[2], size[3], size[4], size[5]);
        std::int64_t seen = keys;
        ROOFLINE_CHECK(read_window(keys, phase->decode, seen, skip));
        if (!skip.empty()) return {};
        if (heads % kv_heads != 0) skip = "heads is not a multiple of kv_heads";
        if (phase->causal && queries > keys) skip = "more queries than keys (kv_len is less than q_len)";
        constexpr std::int64_t rope = 64;  // dimensions of a latent head that only keys have
        if (phase->latent && (head_dim <= rope || kv_heads != 1))
            skip = "mla has one latent head of more than 64 dimensions";
        row.dtype = lowered(text("dtype"));
        Operands of;
        of.q = multiplied_dtype(row, dtype(row.dtype, skip));
        const std::string_view kv_text = text("kv_dtype");
        of.kv = kv_text.empty() ? of.q : multiplied_dtype(row, dtype(kv_text, skip));
        if (!kv_text.empty() && of.kv != of.q) row.dtype += fmt::format(", kv {}", lowered(kv_text));
        of.passes = default_passes(row, of.q);
        const std::int64_t value_dim = read_note(row, of, head_dim, skip);
        if (!skip.empty()) return {};
        row.sizes = {{"B", batch}, {"T", queries}, {"S", seen}};
        if (phase->latent) {
            row.sizes.insert(row.sizes.end(), {{"N", heads}, {"L", head_dim - rope}, {"R", rope}});
            row.program = latent_program(of.q, of.kv);
            return {};
        }
        row.sizes.insert(row.sizes.end(), {{"K", kv_heads}, {"G", heads / kv_heads}, {"H", head_dim}});
        if (value_dim != head_dim) row.sizes.emplace_back("J", value_dim);
        if (seen < keys) row.sizes.emplace_back("C", keys);
        if (phase->backward) row.variant += row.variant.empty() ? "backward" : ", backward";
        of.values = value_dim != head_dim ? "J" : "H";
        of.cache = seen < keys ? "C" : "S";
        row.program = phase->backward ? backward_program(of, phase->causal) : program(of, phase->causal);
        return {};
    }

private:
    /// What is timed, by the word in the column `phase`.
    struct Phase {
        std::string_view name;
        std::string_view operation;
        bool causal = false;
        bool decode = false;
        bool latent = false;
        bool backward = false;
    };
    static const Phase* find_phase(std::string_view name) {
        static constexpr Phase phases[] = {
            {.name = "prefill", .operation = "attention_prefill", .causal = true},
            {.name = "prefill_noncausal", .operation = "attention_noncausal"},
            {.name = "decode", .operation = "attention_decode", .decode = true},
            {.name = "mla_prefill", .operation = "mla_prefill", .latent = true},
            {.name = "mla_decode", .operation = "mla_decode", .decode = true, .latent = true},
            {.name = "backward", .operation = "attention_backward", .causal = true, .backward = true},
            {.name = "backward_noncausal", .operation = "attention_backward_noncausal", .backward = true},
        };
        const auto* const found =
            std::find_if(std::begin(phases), std::end(phases), [&](const Phase& each) { return each.name == name; });
        return found == std::end(phases) ? nullptr : found;
    }

    /// What a program of attention multiplies.
    struct Operands {
        std::string q;
        std::string kv;
        std::string passes;        ///< " using bf16" where fewer passes are made than the dtype needs
        std::string values = "H";  ///< dimension of the values and the result
        std::string cache = "S";   ///< dimension of the keys in memory
        bool biased = false;       ///< a bias per query head, query and key is added to the scores
        bool masked = false;       ///< a mask per sequence and key excludes scores
    };

    /// Reads what only the note says: `v_head_dim=`, the width of the values, which is returned, `bias=` and
    /// `bool_mask=`. Scores with a bias have kernels of their own.
    std::int64_t read_note(MeasuredKernel& row, Operands& of, std::int64_t head_dim, std::string& skip) const {
        const std::string_view note = fields_.text(find_column(columns_, {"note", "notes"}));
        of.biased = holds(note, "bias=");
        of.masked = holds(note, "bool_mask=");
        if (of.biased || of.masked) {
            const std::string_view what = of.biased ? "biased" : "masked";
            row.variant += fmt::format("{}{}", row.variant.empty() ? "" : ", ", what);
        }
        const std::string_view width = note_value(note, "v_head_dim=");
        if (width.empty()) return head_dim;
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(width.data(), width.data() + width.size(), value);
        if ((error != std::errc{} || end != width.data() + width.size() || value < 1) && skip.empty())
            skip = "v_head_dim is not a number";
        return value;
    }

    /// A decode step reads at most the window. A prefill that is longer than its window would need another mask, so it
    /// is skipped.
    Status read_window(std::int64_t keys, bool decode, std::int64_t& seen, std::string& skip) const {
        const auto at = find_column(columns_, {"window"});
        const std::string_view window_text = fields_.text(at);
        if (window_text.empty() || window_text == "0") return {};
        ROOFLINE_TRY(const auto window, fields_.whole(*at));
        if (window >= keys) return {};
        if (decode) {
            seen = window;
        } else if (skip.empty()) {
            skip = "a prefill longer than its window";
        }
        return {};
    }

    static std::string keys_of(std::string_view cache, bool window) {
        return window ? fmt::format("gather[C]({}, W)", cache) : std::string(cache);
    }

    static std::string result_dtype(const std::string& q) {
        return q == "bf16" || q == "f16" || q == "f32" ? q : "bf16";
    }

    /// The operands in memory. If a window covers only a part of the cache, W holds the places of its keys among the C
    /// cached ones.
    static std::string operands(const Operands& of) {
        std::string text = fmt::format("Q : {0}[B, K, G, T, H]\nA : {1}[B, K, {2}, H]\nV : {1}[B, K, {2}, {3}]\n", of.q,
                                       of.kv, of.cache, of.values);
        if (of.cache == "C") text += "W : s32[S]\n";
        if (of.biased) text += fmt::format("Bias : {}[K, G, T, S]\n", of.q);
        if (of.masked) text += "Mask : bool[B, S]\nFloor : f32[]\n";
        return text;
    }

    static std::string scores(const Operands& of, bool causal) {
        std::string text = "Q * " + keys_of("A", of.cache == "C");
        if (of.biased || of.masked) text = "(Q *_H A)";
        if (of.biased) text += " + Bias";
        if (of.masked) text = fmt::format("where(Mask, {}, Floor)", text);
        return causal ? fmt::format("causal[T, S]({})", text) : text;
    }

    static std::string program(const Operands& of, bool causal) {
        return operands(of) +
               fmt::format(
                   "fuse {{\n P : {0}[B, K, G, T, S] = softmax[S]({1}){2}\n O : {3}[B, K, G, T, {4}] = P * "
                   "{5}{2}\n}}\n",
                   of.q, scores(of, causal), of.passes, result_dtype(of.q), of.values, keys_of("V", of.cache == "C"));
    }

    /// The gradients of queries, keys and values, from that of the result: probabilities are computed again, as the
    /// derivative of a program does it.
    static std::string backward_program(const Operands& of, bool causal) {
        const std::string gradient = fmt::format("dO *_{} V", of.values);
        return operands(of) +
               fmt::format(
                   "dO : {0}[B, K, G, T, {1}]\nfuse {{\n P : {0}[B, K, G, T, S] = softmax[S]({2}){3}\n dP : {0}[B, K, "
                   "G, T, S] = {4}{3}\n dS : {0}[B, K, G, T, S] = dsoftmax[S](P, dP)\n dQ : {0}[B, K, G, T, H] = dS "
                   "*_S A{3}\n dA : {5}[B, K, S, H] = dS *_{{T, G}} Q{3}\n dV : {5}[B, K, S, {1}] = dO *_{{T, G}} "
                   "P{3}\n}}\n",
                   of.q, of.values, scores(of, causal), of.passes,
                   causal ? fmt::format("causal[T, S]({})", gradient) : gradient, of.kv);
    }

    /// Latents are both keys and values.
    static std::string latent_program(const std::string& q, const std::string& kv) {
        const std::string out = q == "bf16" || q == "f16" || q == "f32" ? q : "bf16";
        return fmt::format(
            "Q : {0}[B, N, T, L]\nE : {0}[B, N, T, R]\nA : {1}[B, S, L]\nF : {1}[B, S, R]\n"
            "fuse {{\n P : {0}[B, N, T, S] = softmax[S]((Q *_L A) + (E *_R F))\n O : {2}[B, N, T, L] = P * A\n}}\n",
            q, kv, out);
    }
};

}  // namespace

std::unique_ptr<KernelReader> attention_reader(CsvReader& reader) { return std::make_unique<AttentionReader>(reader); }

}  // namespace roofline::core
