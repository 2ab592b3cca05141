// Fused attention of all backends as one custom call.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "import/xla/fx/fx_call.hpp"

namespace roofline::core {

namespace {

/// Where an operation has its arguments.
struct AttentionForm {
    std::string_view name;
    bool backward = false;        ///< the gradient of the result is the first argument
    std::size_t causal = 0;       ///< the place of `is_causal`
    std::size_t mask = no_place;  ///< of the mask or bias that is added to scores
    static constexpr std::size_t no_place = 99;
};

constexpr AttentionForm attention_forms[] = {
    {"_scaled_dot_product_cudnn_attention", false, 6, 3},
    {"_scaled_dot_product_cudnn_attention_backward", true, 14, 8},
    {"_scaled_dot_product_efficient_attention", false, 6, 3},
    {"_scaled_dot_product_efficient_attention_backward", true, 11, 4},
    {"_scaled_dot_product_flash_attention", false, 4},
    {"_scaled_dot_product_flash_attention_backward", true, 11},
    {"_scaled_dot_product_flash_attention_for_cpu", false, 4, AttentionForm::no_place},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", true, 7, AttentionForm::no_place},
    {"_scaled_dot_product_fused_attention_overrideable", false, 5, 3},
    {"_scaled_dot_product_fused_attention_overrideable_backward", true, 13, 4},
    {"scaled_dot_product_attention", false, 5, 3},
};

/// A mask or bias that is added to scores.
struct AttentionBias {
    std::uint32_t array = 0;
    std::string letters;  ///< of its dimensions: batch b, heads kg, queries t, keys s
};

// The bias as it lies in memory, before it was broadcast to all heads; nothing if its dimensions are not those of
// scores.
std::optional<AttentionBias> bias_of(const FxBuilder& to, std::uint32_t array, const FxDims& scores) {
    const FxDims& dims = to.dims(array);
    if (dims.size() > scores.size()) return std::nullopt;
    AttentionBias bias{array, ""};
    constexpr std::string_view letters[] = {"b", "kg", "t", "s"};
    for (std::size_t d = 0; d < dims.size(); ++d) {
        const std::size_t place = scores.size() - dims.size() + d;
        if (dims[d] == 1) continue;
        if (dims[d] != scores[place]) return std::nullopt;
        bias.letters += letters[place];
    }
    return bias;
}

std::optional<FxValue> attention_rule(FxCall& call) {
    const auto* const form = std::find_if(std::begin(attention_forms), std::end(attention_forms),
                                          [&](const AttentionForm& each) { return each.name == call.op; });
    if (form == std::end(attention_forms)) return std::nullopt;
    const std::size_t first = form->backward ? 1 : 0;
    const auto query = call.array(first, "query");
    const auto key = call.array(first + 1, "key");
    const auto value = call.array(first + 2, "value");
    if (!query || !key || !value) return std::nullopt;
    const FxDims q = call.to.dims(*query);
    const FxDims k = call.to.dims(*key);
    const FxDims v = call.to.dims(*value);
    const std::size_t rank = q.size();
    // [..., heads, rows, width]; of three dimensions the first is the batch.
    if (rank < 3 || k.size() != rank || v.size() != rank) return std::nullopt;
    const std::size_t heads_at = rank - 3;
    const std::int64_t heads = rank > 3 ? q[heads_at] : 1;
    const std::int64_t groups = rank > 3 ? k[heads_at] : 1;
    double batch = 1;
    for (std::size_t d = 0; d < (rank > 3 ? heads_at : 1); ++d) {
        if (q[d] != k[d] || q[d] != v[d]) return std::nullopt;
        batch *= static_cast<double>(q[d]);
    }
    constexpr double most = 9e15;
    const bool fits = k[rank - 1] == q[rank - 1] && v[rank - 2] == k[rank - 2] && (rank == 3 || v[heads_at] == groups);
    if (!fits || batch > most) return std::nullopt;
    std::vector<std::uint32_t> operands = {*query, *key, *value};
    if (form->backward) {
        const auto gradient = call.array(0, "grad_out");
        if (!gradient) return std::nullopt;
        operands.push_back(*gradient);
    }
    const auto mask = call.array(form->mask, "attn_mask");
    const auto given = mask ? mask : call.array(form->mask, "attn_bias");
    std::optional<AttentionBias> bias;
    if (given && rank == 4) {
        const FxDims scores{q[0], heads, q[2], k[2]};
        bias = bias_of(call.to, call.to.before_broadcast(*given), scores);
        if (!bias) bias = bias_of(call.to, *given, scores);
    }
    if (given) operands.push_back(bias ? bias->array : *given);
    // Recorded calls of backends have it, with the query among its keys.
    const std::int64_t window = call.whole(AttentionForm::no_place, "window").value_or(0);
    const std::string config = fmt::format(
        R"({{"input_batch":{:.0f},"attn_heads":{},"num_gqa_groups":{},"q_max_seqlen":{},"kv_max_seqlen":{},)"
        R"("qk_head_dim":{},"v_head_dim":{},"mask_type":{},{}"bias_dims":"{}"}})",
        batch, heads, groups, q[rank - 2], k[rank - 2], q[rank - 1], v[rank - 1],
        call.flag(form->causal, "is_causal", false) || window > 0 ? 2 : 0,
        window > 0 ? fmt::format(R"("window":{},)", window) : "", bias ? bias->letters : "");
    XlaShape shape;
    if (call.several()) {
        for (std::size_t i = 0; i < call.type.items.size(); ++i) {
            XlaShape none;
            none.element = find_xla_element("token");
            shape.parts.push_back(call.result(i) == nullptr ? none : *call.result(i));
        }
    } else if (call.result() != nullptr) {
        shape = *call.result();
    } else {
        return std::nullopt;
    }
    if (form->backward && (!call.several() || shape.parts.size() < 3)) return std::nullopt;
    const bool several = call.several();
    const std::uint32_t made =
        call.to.add("custom-call", std::move(shape), std::move(operands),
                    {{"custom_call_target", form->backward ? "\"attention_backward\"" : "\"attention\""},
                     {"backend_config", call.to.keep(config)}});
    return several ? call.to.parts_of(made) : FxValue::of(made);
}

}  // namespace

FxRule fx_attention_rule(std::string_view op) {
    for (const AttentionForm& each : attention_forms) {
        if (each.name == op) return attention_rule;
    }
    return nullptr;
}

}  // namespace roofline::core
