#include <algorithm>
#include <tuple>

#include "base/ascii.hpp"
#include "import/kernel_reader.hpp"

namespace roofline::core {

namespace {

class AttentionReader : public KernelReader {
public:
    using KernelReader::KernelReader;

    Status read(MeasuredKernel& row, std::string& skip) override {
        const std::string phase = lowered(text("phase"));
        const bool decode = phase == "decode" || phase == "mla_decode";
        const bool latent = phase.starts_with("mla_");
        if (!decode && phase != "prefill" && phase != "mla_prefill") {
            skip = fmt::format("the phase {} is unknown", in_ticks(phase));
            return {};
        }
        row.operation = (latent ? "mla_" : "attention_") + std::string(decode ? "decode" : "prefill");
        if (phase == "mla_prefill") {
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
        ROOFLINE_CHECK(read_window(keys, decode, seen, skip));
        if (!skip.empty()) return {};
        if (heads % kv_heads != 0) skip = "heads is not a multiple of kv_heads";
        if (!decode && queries != keys) skip = "a prefill with cached tokens (kv_len is not q_len)";
        constexpr std::int64_t rope = 64;  // dimensions of a latent head that only keys have
        if (latent && (head_dim <= rope || kv_heads != 1)) skip = "mla has one latent head of more than 64 dimensions";
        row.dtype = lowered(text("dtype"));
        const std::string q = dtype(row.dtype, skip);
        const std::string_view kv_text = text("kv_dtype");
        const std::string kv = kv_text.empty() ? q : dtype(kv_text, skip);
        if (!kv_text.empty() && kv != q) row.dtype += fmt::format(", kv {}", lowered(kv_text));
        if (!skip.empty()) return {};
        row.sizes = {{"B", batch}, {"T", queries}, {"S", seen}};
        if (latent) {
            row.sizes.insert(row.sizes.end(), {{"N", heads}, {"L", head_dim - rope}, {"R", rope}});
            row.program = latent_program(q, kv);
        } else {
            row.sizes.insert(row.sizes.end(), {{"K", kv_heads}, {"G", heads / kv_heads}, {"H", head_dim}});
            if (seen < keys) row.sizes.emplace_back("C", keys);
            row.program = program(q, kv, !decode, seen < keys);
        }
        return {};
    }

private:
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

    static std::string masked(std::string_view scores, bool causal) {
        return causal ? fmt::format("causal[T, S]({})", scores) : std::string(scores);
    }

    static std::string keys_of(std::string_view cache, bool window) {
        return window ? fmt::format("gather[C]({}, W)", cache) : std::string(cache);
    }

    /// If a window covers only a part of the cache, W holds the places of its keys among the C cached ones.
    static std::string program(const std::string& q, const std::string& kv, bool causal, bool window) {
        const std::string out = q == "bf16" || q == "f16" || q == "f32" ? q : "bf16";
        return fmt::format(
            "Q : {0}[B, K, G, T, H]\nA : {1}[B, K, {4}, H]\nV : {1}[B, K, {4}, H]\n{5}"
            "fuse {{\n P : {0}[B, K, G, T, S] = softmax[S]({2})\n O : {3}[B, K, G, T, H] = P * {6}\n}}\n",
            q, kv, masked("Q * " + keys_of("A", window), causal), out, window ? "C" : "S", window ? "W : s32[S]\n" : "",
            keys_of("V", window));
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
