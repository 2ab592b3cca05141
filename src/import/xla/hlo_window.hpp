// Windows of convolutions, reductions over windows, and counts that follow from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "algebra/rational.hpp"
#include "import/xla/xla_module.hpp"

namespace roofline::core {

/// One dimension of a window.
struct WindowDim {
    std::int64_t size = 1;
    std::int64_t stride = 1;
    std::int64_t pad_low = 0;  ///< negative to leave elements out
    std::int64_t pad_high = 0;
    std::int64_t base_dilation = 1;    ///< distance of the input's elements, between which are holes
    std::int64_t window_dilation = 1;  ///< distance of the window's elements
};

/// Reads `{size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=1x1 rhs_dilate=1x1}`. Nothing for anything else, and for sizes
/// below 1 or beyond 2^40.
[[nodiscard]] std::optional<std::vector<WindowDim>> read_window(std::string_view text);

/// Returns how many pairs of an output position and a window element meet an element of the input: neither padding nor
/// a hole between dilated elements. Nothing if outputs and window have more than ten million positions each.
[[nodiscard]] std::optional<std::int64_t> valid_taps(const WindowDim& window, std::int64_t input, std::int64_t output);

/// A convolution as a matmul: `rows` output positions times `taps` inputs times `columns` features, in `groups`.
struct ConvolutionCount {
    std::int64_t rows = 1;     ///< output positions, batch included
    std::int64_t groups = 1;   ///< of features
    std::int64_t taps = 1;     ///< window elements times input features of a group
    std::int64_t columns = 1;  ///< output features of a group
    Rational share{1};         ///< of the taps that meet an element of the input
    double flops = 0;          ///< 2 per multiplied pair
};

/// Counts a convolution from its window, dimension labels and groups. Nothing if these do not fit the shapes.
[[nodiscard]] std::optional<ConvolutionCount> count_convolution(const XlaInstruction& convolution, const XlaShape& left,
                                                                const XlaShape& right);

/// Returns the FLOPs of an operation that no function of the notation describes: a sort, a reduction of several arrays,
/// a reduction over windows. An add, multiply or compare is one. Nothing where they are unknown.
[[nodiscard]] std::optional<double> opaque_flops(const XlaModule& module, const XlaInstruction& instruction,
                                                 const XlaComputation& computation);

}  // namespace roofline::core
