// The table of dtypes, from which parsing, sizes, the arithmetic rule and substitute rates are derived.
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

/// The properties of a dtype.
struct DtypeInfo {
    Dtype dtype;
    std::string_view name;
    DtypeKind kind;
    int bits;           ///< of one element, without its share of the block scales
    int scale_bits;     ///< of one block's scale
    int block;          ///< elements that share a scale; 0: no scales
    Dtype arithmetic;   ///< the arithmetic it takes part in: fp8_e4m3 multiplies as fp8
    Dtype accumulator;  ///< the dtype in which matrix units accumulate
    std::vector<Dtype>
        runs_as;  ///< itself, then the dtypes whose rates may be used instead, nearest first, each at least as wide
};

[[nodiscard]] const DtypeInfo& info(Dtype dtype);
[[nodiscard]] const std::vector<DtypeInfo>& all_dtypes();

/// A matmul in one dtype as several matmuls of narrower pieces: `passes` of them, for a precision.
struct PassScheme {
    Dtype dtype;
    Dtype of;  ///< dtype in which the pieces are multiplied
    std::int64_t passes;
    std::string_view precision;  ///< of the result
};

/// Returns the schemes for `dtype` in pieces of `of`, fewest passes first; empty if no library splits a matmul in this
/// way.
[[nodiscard]] std::vector<PassScheme> pass_schemes(Dtype dtype, Dtype of);

[[nodiscard]] std::vector<std::string> dtype_names();

/// The bits of one element including its share of the scale, as numerator over denominator: 9/2 for nvfp4.
struct BitsPerElement {
    int numerator;
    int denominator;
};
[[nodiscard]] BitsPerElement stored_bits(Dtype dtype);

/// Whether it is a float of fewer than 16 bits: what products and exchanges of a model in bf16 are narrowed to.
[[nodiscard]] bool narrow_float(Dtype dtype);

/// The arithmetic of an operation on two dtypes: float beats integer, then more bits. Empty when the width is equal and
/// the kinds differ (bf16 with f16): the user must say which.
[[nodiscard]] std::optional<Dtype> arithmetic(Dtype a, Dtype b);

}  // namespace roofline::core
