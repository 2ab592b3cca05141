#include "units/dtype.hpp"

#include <numeric>

#include "base/ascii.hpp"

namespace roofline::core {

namespace {

using enum Dtype;

// The rate of another dtype may be used for a dtype only if its unit holds every value of that dtype, so that widening
// loses nothing:
// - bf16 in tf32: the same exponent, more mantissa
// - fp8 in f16: e5m2 is f16 with a shorter mantissa, and e4m3's range is inside; bf16 holds both as well
// - fp6, fp4 in fp8: e3m2, e2m3 and e2m1 are all inside e4m3
// - int8 in f16: 8 significant bits are enough for it, in bf16 too, and the sums are kept in f32 either way; int4 fits
//   into fp8
// - int32: 31 bits do not fit into f32, so only f64 is left, and for int64 nothing; int16 fits into f32
// Block types of GGUF files (ggml's quantised types) have no enumerators, because no code treats one of them apart;
// their numbers follow those of the enumerators. Their elements are integers, which kernels multiply as int8 with a
// scale per block, or widen.
// Block scales are powers of two per 32 elements in the mx formats: any unit that holds the elements can run a block
// and scale the sum, and bf16 holds element and scale together, so it comes before f16. The scale of nvfp4 has a
// mantissa and covers 16 elements, fewer than an fp8 instruction sums, so nvfp4 uses 16 bits, where element times scale
// is exact. Plain `fp4` is the rate that vendors quote for their 4-bit units, all of which apply block scales.
std::vector<DtypeInfo> with_block_types(std::vector<DtypeInfo> table) {
    /// What a block holds beside the bits of its elements, from the structures of ggml-common.h.
    struct BlockType {
        std::string_view name;
        int bits;
        int scale_bits;
        int block;
    };
    constexpr BlockType types[] = {
        {"q4_0", 4, 16, 32},     {"q4_1", 4, 32, 32},    {"q5_0", 5, 16, 32},    {"q5_1", 5, 32, 32},
        {"q8_0", 8, 16, 32},     {"q2_k", 2, 160, 256},  {"q3_k", 3, 112, 256},  {"q4_k", 4, 128, 256},
        {"q5_k", 5, 128, 256},   {"q6_k", 6, 144, 256},  {"iq1_s", 1, 144, 256}, {"iq1_m", 1, 192, 256},
        {"iq2_xxs", 2, 16, 256}, {"iq2_xs", 2, 80, 256}, {"iq2_s", 2, 144, 256}, {"iq3_xxs", 3, 16, 256},
        {"iq3_s", 3, 112, 256},  {"iq4_nl", 4, 16, 32},  {"iq4_xs", 4, 64, 256}, {"tq1_0", 1, 176, 256},
        {"tq2_0", 2, 16, 256},
    };
    for (const BlockType& type : types) {
        const auto dtype = static_cast<Dtype>(table.size());
        table.push_back({dtype,
                         type.name,
                         DtypeKind::integer,
                         type.bits,
                         type.scale_bits,
                         type.block,
                         int8,
                         int32,
                         {dtype, int8, bf16, f16, tf32, int32, f32, f64}});
    }
    return table;
}

std::vector<DtypeInfo> make_table() {
    const auto floating = DtypeKind::floating;
    const auto integer = DtypeKind::integer;
    return with_block_types({
        {f64, "f64", floating, 64, 0, 0, f64, f64, {f64}},
        {f32, "f32", floating, 32, 0, 0, f32, f32, {f32, f64}},
        {tf32, "tf32", floating, 32, 0, 0, tf32, f32, {tf32, f32, f64}},
        {bf16, "bf16", floating, 16, 0, 0, bf16, f32, {bf16, tf32, f32, f64}},
        {f16, "f16", floating, 16, 0, 0, f16, f32, {f16, tf32, f32, f64}},
        {fp8, "fp8", floating, 8, 0, 0, fp8, f32, {fp8, mxfp8, f16, bf16, tf32, f32, f64}},
        {fp8_e4m3, "fp8_e4m3", floating, 8, 0, 0, fp8, f32, {fp8_e4m3, fp8, mxfp8, f16, bf16, tf32, f32, f64}},
        {fp8_e5m2, "fp8_e5m2", floating, 8, 0, 0, fp8, f32, {fp8_e5m2, fp8, mxfp8, f16, bf16, tf32, f32, f64}},
        {mxfp8, "mxfp8", floating, 8, 8, 32, mxfp8, f32, {mxfp8, fp8, bf16, f16, tf32, f32, f64}},
        {fp6, "fp6", floating, 6, 0, 0, fp6, f32, {fp6, fp8, mxfp8, f16, bf16, tf32, f32, f64}},
        {fp4, "fp4", floating, 4, 0, 0, fp4, f32, {fp4, nvfp4, mxfp4, fp6, fp8, mxfp8, f16, bf16, tf32, f32, f64}},
        {nvfp4, "nvfp4", floating, 4, 8, 16, nvfp4, f32, {nvfp4, fp4, bf16, f16, tf32, f32, f64}},
        {mxfp4, "mxfp4", floating, 4, 8, 32, mxfp4, f32, {mxfp4, fp4, fp6, mxfp8, fp8, bf16, f16, tf32, f32, f64}},
        {int64, "int64", integer, 64, 0, 0, int64, int64, {int64}},
        {int32, "int32", integer, 32, 0, 0, int32, int32, {int32, f64}},
        {int16, "int16", integer, 16, 0, 0, int16, int32, {int16, int32, f32, f64}},
        {int8, "int8", integer, 8, 0, 0, int8, int32, {int8, bf16, f16, tf32, int32, f32, f64}},
        {int4, "int4", integer, 4, 0, 0, int4, int32, {int4, int8, fp8, mxfp8, bf16, f16, tf32, int32, f32, f64}},
        // Stored as a byte; 0 and 1 fit everywhere.
        {boolean,
         "bool",
         DtypeKind::logical,
         8,
         0,
         0,
         boolean,
         int32,
         {boolean, int8, fp8, mxfp8, bf16, f16, tf32, int32, f32, f64}},
    });
}

// Pieces of a number: bf16 holds 8 significant bits, int8 8 bits.
// - f32: 24 significant bits are three pieces. Of their nine products the first is one pass, those of the first two
//   pieces except the least are three, and those down to 2^-24 of the result are six. XLA names the three precisions.
// - tf32: 11 significant bits are two pieces; the product of the two small ones is below its last bit.
// - f16: 11 significant bits are two pieces, and all four products make it exact.
// - int32: four pieces; of the 16 products those of 2^32 and more do not count, so ten are left.
constexpr PassScheme pass_table[] = {
    {f32, bf16, 1, "operands rounded to bf16, XLA's DEFAULT precision"},
    {f32, bf16, 3, "about 16 significant bits, XLA's HIGH precision"},
    {f32, bf16, 6, "f32's own precision, XLA's HIGHEST"},
    {tf32, bf16, 3, "about 16 significant bits, XLA's HIGH precision"},
    {f16, bf16, 4, "two pieces of each operand, products exact"},
    {int32, int8, 10, "four pieces of each operand, exact modulo 2^32"},
    {int32, bf16, 10, "four pieces of each operand, exact modulo 2^32"},
};

struct Alias {
    std::string_view text;
    Dtype dtype;
};

constexpr Alias aliases[] = {
    {"float64", f64},
    {"double", f64},
    {"fp64", f64},
    {"float32", f32},
    {"float", f32},
    {"fp32", f32},
    {"single", f32},
    {"tensorfloat32", tf32},
    {"bfloat16", bf16},
    {"bfloat", bf16},
    {"float16", f16},
    {"fp16", f16},
    {"half", f16},
    {"float8", fp8},
    {"f8", fp8},
    {"e4m3", fp8_e4m3},
    {"e4m3fn", fp8_e4m3},
    {"f8e4m3", fp8_e4m3},
    {"f8e4m3fn", fp8_e4m3},
    {"fp8e4m3", fp8_e4m3},
    {"fp8e4m3fn", fp8_e4m3},
    {"fp8_e4m3fn", fp8_e4m3},
    {"float8_e4m3", fp8_e4m3},
    {"float8_e4m3fn", fp8_e4m3},
    {"e5m2", fp8_e5m2},
    {"f8e5m2", fp8_e5m2},
    {"fp8e5m2", fp8_e5m2},
    {"float8_e5m2", fp8_e5m2},
    {"mx_fp8", mxfp8},
    {"mxf8", mxfp8},
    {"f6", fp6},
    {"float6", fp6},
    {"f4", fp4},
    {"float4", fp4},
    {"e2m1", fp4},
    {"f4e2m1", fp4},
    {"f4e2m1fn", fp4},
    {"fp4_e2m1", fp4},
    {"float4_e2m1fn", fp4},
    {"nv_fp4", nvfp4},
    {"nvf4", nvfp4},
    {"mx_fp4", mxfp4},
    {"mxf4", mxfp4},
    {"s64", int64},
    {"i64", int64},
    {"u64", int64},
    {"uint64", int64},
    {"s32", int32},
    {"i32", int32},
    {"u32", int32},
    {"uint32", int32},
    {"s16", int16},
    {"i16", int16},
    {"u16", int16},
    {"uint16", int16},
    {"s8", int8},
    {"i8", int8},
    {"u8", int8},
    {"uint8", int8},
    {"s4", int4},
    {"i4", int4},
    {"u4", int4},
    {"uint4", int4},
    {"pred", boolean},
    {"boolean", boolean},
};

/// `lowered` must be in lower case.
bool equals_folded(std::string_view text, std::string_view lowered) {
    if (text.size() != lowered.size()) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (to_lower(text[i]) != lowered[i]) {
            return false;
        }
    }
    return true;
}

int rank(DtypeKind kind) {
    switch (kind) {
        case DtypeKind::floating:
            return 2;
        case DtypeKind::integer:
            return 1;
        case DtypeKind::logical:
            return 0;
    }
    return 0;
}

}  // namespace

const std::vector<DtypeInfo>& all_dtypes() {
    static const std::vector<DtypeInfo> table = make_table();
    return table;
}

const DtypeInfo& info(Dtype dtype) { return all_dtypes()[static_cast<std::size_t>(dtype)]; }

std::vector<PassScheme> pass_schemes(Dtype dtype, Dtype of) {
    std::vector<PassScheme> found;
    for (const PassScheme& scheme : pass_table) {
        if (scheme.dtype == dtype && scheme.of == of) found.push_back(scheme);
    }
    return found;
}

std::vector<std::string> dtype_names() {
    std::vector<std::string> names;
    for (const DtypeInfo& entry : all_dtypes()) {
        names.emplace_back(entry.name);
    }
    return names;
}

BitsPerElement stored_bits(Dtype dtype) {
    const DtypeInfo& entry = info(dtype);
    if (entry.block == 0) {
        return {entry.bits, 1};
    }
    const int numerator = entry.bits * entry.block + entry.scale_bits;
    const int common = std::gcd(numerator, entry.block);
    return {numerator / common, entry.block / common};
}

std::optional<Dtype> arithmetic(Dtype a, Dtype b) {
    const DtypeInfo& left = info(info(a).arithmetic);
    const DtypeInfo& right = info(info(b).arithmetic);
    if (left.dtype == right.dtype) {
        return left.dtype;
    }
    if (left.kind != right.kind) {
        return rank(left.kind) > rank(right.kind) ? left.dtype : right.dtype;
    }
    if (left.bits == right.bits) {
        return std::nullopt;
    }
    return left.bits > right.bits ? left.dtype : right.dtype;
}

bool narrow_float(Dtype dtype) {
    constexpr int stored_bits = 16;
    return info(dtype).kind == DtypeKind::floating && info(dtype).bits < stored_bits;
}

}  // namespace roofline::core

namespace roofline {

std::string_view name(Dtype dtype) { return core::info(dtype).name; }

std::optional<Dtype> find_dtype(std::string_view text) {
    for (const core::DtypeInfo& entry : core::all_dtypes()) {
        if (core::equals_folded(text, entry.name)) {
            return entry.dtype;
        }
    }
    for (const core::Alias& alias : core::aliases) {
        if (core::equals_folded(text, alias.text)) {
            return alias.dtype;
        }
    }
    return std::nullopt;
}

}  // namespace roofline
