// Attention of ONNX and of ONNX Runtime, which are fused kernels, and rotary embeddings.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "import/xla/onnx/onnx_call.hpp"

namespace roofline::core {

namespace {

/// The sizes of attention.
struct AttentionShape {
    std::int64_t batch = 0;
    std::int64_t heads = 0;
    std::int64_t groups = 0;  ///< heads of keys and values
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    std::int64_t width = 0;
    std::int64_t value_width = 0;
    bool causal = false;
};

// A fused kernel as lower_custom_call.cpp knows it, with queries, keys and values apart.
OnnxValue fused_attention(OnnxCall& call, const OnnxValue& q, const OnnxValue& k, const OnnxValue& v,
                          const AttentionShape& of, OnnxDims result) {
    const bool positive = of.batch > 0 && of.heads > 0 && of.groups > 0 && of.queries > 0 && of.keys > 0 &&
                          of.width > 0 && of.value_width > 0;
    if (!positive || of.heads % of.groups != 0) {
        call.fail(fmt::format("queries {}, keys {} and values {} make no attention of {} and {} heads",
                              shape_text(q.shape), shape_text(k.shape), shape_text(v.shape), of.heads, of.groups));
        return q;
    }
    const std::string config =
        fmt::format(R"({{"input_batch":{},"attn_heads":{},"num_gqa_groups":{},"q_max_seqlen":{},"kv_max_seqlen":{},)"
                    R"("qk_head_dim":{},"v_head_dim":{},"mask_type":{}}})",
                    of.batch, of.heads, of.groups, of.queries, of.keys, of.width, of.value_width, of.causal ? 2 : 0);
    return call.hlo().emit("custom-call", array_of(q.shape.element, std::move(result)), {q, k, v},
                           {{"custom_call_target", "\"__cudnn$fmhaSoftmax\""}, {"backend_config", config}});
}

// What was cached before, and what comes now; the cache of a fixed size holds both.
OnnxValue with_past(OnnxCall& call, std::size_t past, const OnnxValue& now, std::int64_t axis) {
    if (!call.has(past) || product_of(call.dims(past)) == 0) return now;
    const OnnxValue before = call.in(past);
    OnnxDims dims = now.shape.dims;
    if (before.shape.dims.size() != dims.size()) {
        call.fail(fmt::format("the past {} does not fit {}", shape_text(before.shape), shape_text(now.shape)));
        return now;
    }
    if (__builtin_add_overflow(dims[static_cast<std::size_t>(axis)], before.shape.dims[static_cast<std::size_t>(axis)],
                               &dims[static_cast<std::size_t>(axis)])) {
        call.fail("the past is too long");
        return now;
    }
    return call.hlo().emit("concatenate", array_of(now.shape.element, dims), {before, now},
                           {{"dimensions", list_of({axis})}});
}

// [B, S, heads * width] as [B, heads, S, width], without moving it: where the heads lie is the kernel's business.
OnnxValue in_heads(OnnxCall& call, const OnnxValue& x, std::int64_t heads) {
    if (x.shape.dims.size() == 4) return x;
    if (x.shape.dims.size() != 3 || heads < 1 || x.shape.dims[2] % heads != 0) {
        call.fail(fmt::format("{} cannot be divided into {} heads", shape_text(x.shape), heads));
        return x;
    }
    const OnnxDims dims = x.shape.dims;
    return call.hlo().reshape(x, {dims[0], heads, dims[1], dims[2] / heads});
}

/// What a kind of attention says of itself: its heads, and where the past goes in and the present out.
struct AttentionCall {
    std::int64_t heads = 0;
    std::int64_t groups = 0;
    bool causal = false;
    std::size_t past = 99;     ///< the input with the keys of before; the values are the next one
    std::size_t present = 99;  ///< the output with all keys; the values are the next one
};

void attention_of(OnnxCall& call, const OnnxValue (&inputs)[3], const AttentionCall& as) {
    const OnnxValue q = in_heads(call, inputs[0], as.heads);
    OnnxValue k = in_heads(call, inputs[1], as.groups);
    OnnxValue v = in_heads(call, inputs[2], as.groups);
    if (call.failed()) return;
    k = with_past(call, as.past, k, 2);
    v = with_past(call, as.past + 1, v, 2);
    if (call.failed()) return;
    const AttentionShape of = {q.shape.dims[0], q.shape.dims[1], k.shape.dims[1], q.shape.dims[2],
                               k.shape.dims[2], q.shape.dims[3], v.shape.dims[3], as.causal};
    const OnnxDims result = inputs[0].shape.dims.size() == 4
                                ? OnnxDims{of.batch, of.heads, of.queries, of.value_width}
                                : OnnxDims{of.batch, of.queries, of.heads * of.value_width};
    call.out(0, fused_attention(call, q, k, v, of, result));
    call.out(as.present, k);
    call.out(as.present + 1, v);
}

// ai.onnx since version 23: Q, K, V, mask, past keys and values.
void write_onnx_attention(OnnxCall& call) {
    const std::int64_t heads = call.dims(0).size() == 4 ? call.dims(0)[1] : call.integer("q_num_heads", 0);
    const std::int64_t groups = call.dims(1).size() == 4 ? call.dims(1)[1] : call.integer("kv_num_heads", 0);
    attention_of(call, {call.in(0), call.in(1), call.in(2)}, {heads, groups, call.integer("is_causal", 0) != 0, 4, 1});
}

// com.microsoft: input, weights of all three projections, their bias.
void write_packed_attention(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const OnnxValue x = call.in(0);
    const OnnxValue w = call.in(1);
    const std::int64_t heads = call.integer("num_heads", 0);
    if (x.shape.dims.size() != 3 || w.shape.dims.size() != 2 || w.shape.dims[1] % 3 != 0) {
        call.fail(
            fmt::format("its input {} and weights {} are no attention's", shape_text(x.shape), shape_text(w.shape)));
        return;
    }
    OnnxValue all = hlo.dot(x, w, {{2}, {0}, {}, {}}, call.element());
    if (call.has(2) && !call.failed()) all = hlo.apply("add", {all, call.in(2)});
    if (call.failed()) return;
    const std::int64_t width = w.shape.dims[1] / 3;
    OnnxDims part = all.shape.dims;
    part[2] = width;
    OnnxValue parts[3];
    for (std::int64_t i = 0; i < 3; ++i) {
        const std::string slice =
            fmt::format("{{[0:{}], [0:{}], [{}:{}]}}", part[0], part[1], i * width, (i + 1) * width);
        parts[i] = hlo.emit("slice", array_of(call.element(), part), {all}, {{"slice", slice}});
    }
    if (call.failed()) return;
    attention_of(call, parts, {heads, heads, call.integer("unidirectional", 0) != 0});
}

void write_multi_head_attention(OnnxCall& call) {
    const std::int64_t heads = call.integer("num_heads", 0);
    if (!call.has(1) || !call.has(2)) {
        call.give_up();  // packed
        return;
    }
    attention_of(call, {call.in(0), call.in(1), call.in(2)},
                 {heads, heads, call.integer("unidirectional", 0) != 0, 6, 1});
}

void write_grouped_attention(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const std::int64_t heads = call.integer("num_heads", 0);
    const std::int64_t groups = call.integer("kv_num_heads", 0);
    const OnnxDims packed = call.dims(0);
    if (call.has(1) && call.has(2)) {
        attention_of(call, {call.in(0), call.in(1), call.in(2)}, {heads, groups, true, 3, 1});
        return;
    }
    const std::int64_t lanes = heads + 2 * groups;
    if (packed.size() != 3 || heads < 1 || groups < 1 || lanes > (1 << 20) || packed[2] % lanes != 0) {
        call.fail("its queries, keys and values are packed in a way that its heads do not tell");
        return;
    }
    const std::int64_t width = packed[2] / lanes;
    const std::int64_t ends[] = {0, heads * width, (heads + groups) * width, packed[2]};
    OnnxValue parts[3];
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string slice =
            fmt::format("{{[0:{}], [0:{}], [{}:{}]}}", packed[0], packed[1], ends[i], ends[i + 1]);
        parts[i] = hlo.emit("slice", array_of(call.element(), {packed[0], packed[1], ends[i + 1] - ends[i]}),
                            {call.in(0)}, {{"slice", slice}});
    }
    if (!call.failed()) attention_of(call, parts, {heads, groups, true, 3, 1});
}

// Each element is multiplied with a cosine, its partner with a sine, and both are added. Cosines and sines are rows of
// tables [positions, half a head's width].
void write_rotary_embedding(OnnxCall& call) {
    OnnxBuilder& hlo = call.hlo();
    const bool own = call.node().domain.empty();
    const OnnxValue x = call.in(0);
    OnnxValue cosines = call.in(own ? 1 : 2);
    OnnxValue sines = call.in(own ? 2 : 3);
    const std::size_t ids = own ? 3 : 1;
    const OnnxDims table = cosines.shape.dims;
    const bool plain = x.shape.dims.size() == 4 || x.shape.dims.size() == 3;
    if (call.failed() || !plain || table.empty() || table.back() < 1 || sines.shape.dims != table) {
        call.fail("its input and its tables do not fit together");
        return;
    }
    const std::int64_t half = table.back();
    const bool heads_first = x.shape.dims.size() == 4;
    const std::int64_t batch = x.shape.dims[0];
    const std::int64_t length = x.shape.dims[heads_first ? 2 : 1];
    const std::int64_t heads = heads_first ? x.shape.dims[1] : x.shape.dims[2] / (2 * half);
    const std::int64_t given = call.integer("num_heads", 0);
    const bool whole =
        heads_first ? x.shape.dims[3] == 2 * half : x.shape.dims[2] % (2 * half) == 0 && (given == 0 || given == heads);
    const OnnxDims rows = {batch, length, half};
    if (whole && call.has(ids) && table.size() == 2) {
        const OnnxValue places = call.in(ids);
        if (product_of(places.shape.dims) == batch * length) {
            const auto taken = [&](const OnnxValue& from) {
                return hlo.emit("gather", array_of(from.shape.element, rows), {from, places});
            };
            cosines = taken(cosines);
            sines = taken(sines);
        } else {  // the first position of all
            const auto taken = [&](const OnnxValue& from) {
                const OnnxValue part = hlo.emit("slice", array_of(from.shape.element, {length, half}), {from});
                return hlo.broadcast(part, rows);
            };
            if (table[0] < length) call.fail("its tables have fewer rows than its input");
            cosines = taken(cosines);
            sines = taken(sines);
        }
    }
    if (call.failed()) return;
    if (!whole || cosines.shape.dims != rows) {
        call.out(0, hlo.unknown("RotaryEmbedding", x.shape, {x, cosines, sines}));
        return;
    }
    // The two halves of a head are partners.
    const OnnxDims parts =
        heads_first ? OnnxDims{batch, heads, length, 2, half} : OnnxDims{batch, length, heads, 2, half};
    const OnnxDims along = heads_first ? OnnxDims{0, 2, 4} : OnnxDims{0, 1, 4};
    const OnnxValue pairs = hlo.reshape(x, parts);
    const OnnxValue turned = hlo.apply("mul", {pairs, hlo.broadcast_along(cosines, along, parts)});
    const OnnxValue partners = hlo.apply("mul", {pairs, hlo.broadcast_along(sines, along, parts)});
    call.out(0, hlo.reshape(hlo.apply("add", {turned, partners}), x.shape.dims));
}

constexpr OnnxOperatorRow attention_rows[] = {
    {"Attention", write_onnx_attention},
    {"RotaryEmbedding", write_rotary_embedding},
    {"com.microsoft.Attention", write_packed_attention},
    {"com.microsoft.MultiHeadAttention", write_multi_head_attention},
    {"com.microsoft.GroupQueryAttention", write_grouped_attention},
    {"com.microsoft.RotaryEmbedding", write_rotary_embedding},
};

}  // namespace

OnnxOperator find_attention_operator(std::string_view name) { return find_row(attention_rows, name); }

}  // namespace roofline::core
