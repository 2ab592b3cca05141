// The dtypes: one table, from which parsing, sizes, the arithmetic rule and fall-backs all follow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/dtype.hpp"

namespace roofline::core {

using roofline::Dtype;
using roofline::find_dtype;
using roofline::name;

enum class DtypeKind : std::uint8_t { floating, integer, logical };

/// Everything the program knows about a dtype.
struct DtypeInfo {
    Dtype dtype;
    std::string_view name;
    DtypeKind kind;
    int bits;           ///< of one element, its share of the block scales left out
    int scale_bits;     ///< of one block's scale
    int block;          ///< elements that share a scale; 0: no scales
    Dtype arithmetic;   ///< the arithmetic it takes part in: fp8_e4m3 multiplies as fp8
    Dtype accumulator;  ///< what matrix units add up in
    std::vector<Dtype>
        runs_as;  ///< itself, then the rates that may stand in for it, nearest first, each at least as wide
};

[[nodiscard]] const DtypeInfo& info(Dtype dtype);
[[nodiscard]] const std::vector<DtypeInfo>& all_dtypes();

/// A product in one dtype as several products of narrower pieces: `passes` of them, for a precision.
struct PassScheme {
    Dtype dtype;
    Dtype of;  ///< what the pieces are multiplied in
    std::int64_t passes;
    std::string_view precision;  ///< of the result
};

/// Those of `dtype` in pieces of `of`, fewest passes first; none for a product that nobody takes apart so.
[[nodiscard]] std::vector<PassScheme> pass_schemes(Dtype dtype, Dtype of);

[[nodiscard]] std::vector<std::string> dtype_names();

/// Bits of one element with its share of the scale, as numerator over denominator: nvfp4 is 9/2.
struct BitsPerElement {
    int numerator;
    int denominator;
};
[[nodiscard]] BitsPerElement stored_bits(Dtype dtype);

/// Whether it is a float of fewer than 16 bits: what products and exchanges of a model in bf16 are narrowed to.
[[nodiscard]] bool narrow_float(Dtype dtype);

/// The arithmetic of an operation on two dtypes: float beats integer, then more bits. Empty when the width is equal and the
/// kinds differ (bf16 with f16): the user must say which.
[[nodiscard]] std::optional<Dtype> arithmetic(Dtype a, Dtype b);

}  // namespace roofline::core
