// Convolutions of XLA: their windows, and how many products they form.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "import/xla/xla_module.hpp"
#include "import/xla/xla_shape.hpp"

namespace roofline::core {

/// One dimension of `window={size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=1x1 rhs_dilate=1x1}`.
struct XlaWindowDim {
    std::int64_t size = 1;
    std::int64_t stride = 1;
    std::int64_t pad_low = 0;
    std::int64_t pad_high = 0;
    std::int64_t base_dilation = 1;    ///< lhs_dilate: holes between the elements of the input
    std::int64_t window_dilation = 1;  ///< rhs_dilate: holes between the elements of the window
};

/// Returns the window of an instruction; empty if it has none. Errors: text that is no window, sizes, strides or
/// dilations below 1, numbers of 2^31 and more.
[[nodiscard]] Result<std::vector<XlaWindowDim>> window_of(const XlaInstruction& at);

/// Returns how many pairs of an element of the window and an element of the output meet an element of the input rather
/// than padding or a hole. The number of steps grows with the logarithms of the sizes. All sizes are below 2^31.
[[nodiscard]] double valid_taps(const XlaWindowDim& dim, std::int64_t window, std::int64_t input, std::int64_t output);

/// Returns the operations of a convolution, two per product: `lhs` and `rhs` are the shapes of its operands, `result`
/// that of its result. Errors: dim_labels that are missing or do not fit the shapes, and groups below 1.
[[nodiscard]] Result<double> convolution_flops(const XlaInstruction& at, const XlaShape& lhs, const XlaShape& rhs,
                                               const XlaShape& result);

}  // namespace roofline::core
