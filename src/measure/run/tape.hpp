// Elementwise work as a short list of instructions that compute one element of a result.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "units/dtype.hpp"

namespace roofline::core {

/// The functions of kind `map` in program/functions.hpp; `convert` and moves are `identity`.
enum class MapFunction : std::uint8_t {
    identity,
    add,
    sub,
    mul,
    div,
    neg,
    abs,
    square,
    maximum,
    minimum,
    where,
    relu,
    relu2,
    exp,
    log,
    sqrt,
    rsqrt,
    sin,
    cos,
    tanh,
    erf,
    sigmoid,
    softplus,
    silu,
    gelu,
    step,
    dsigmoid,
    dsilu,
    dgelu,
};

/// None for functions that are not elementwise: rope has its own instruction; softmax and similar functions are steps.
[[nodiscard]] std::optional<MapFunction> find_map_function(std::string_view name);
[[nodiscard]] std::string_view name(MapFunction function);

/// An array as a loop nest reads it: the stride of each loop in elements; 0 if the array does not depend on the loop.
struct ArrayLoad {
    std::size_t array = 0;  ///< one of the step's inputs
    std::vector<std::int64_t> strides;
    std::int64_t offset = 0;  ///< offset at the start of all loops, in elements
};

/// Instruction i computes register i from earlier registers. The last register is the result.
struct TapeOp {
    enum class Kind : std::uint8_t {
        load,      ///< loads[load] at the position of the loops
        constant,  ///< the number
        function,  ///< of in[0], in[1], in[2]
        rope,      ///< in[0] rotated with its neighbour along the last loop by +1 or -1 radian
        causal,    ///< in[0] if loop `column` is not beyond loop `row` and is within the window, else the constant
        shifted,   ///< loads[load] if loop `row` plus the shift is in [0, below), else 0
    };
    Kind kind = Kind::load;
    MapFunction function = MapFunction::identity;
    std::array<std::size_t, 3> in{};
    double number = 0;
    std::size_t load = 0;
    std::size_t row = 0;
    std::size_t column = 0;
    std::int64_t shift = 0;   ///< causal: kept places have column <= row + shift
    std::int64_t window = 0;  ///< causal: and column > row + shift - window; 0: no window
    std::int64_t below = 0;   ///< shifted: size along loop `row`; 0: unbounded
};

struct Tape {
    Dtype arithmetic = Dtype::f32;  ///< type of every register: f64, f32 or int32
    std::vector<ArrayLoad> loads;
    std::vector<TapeOp> ops;
};

}  // namespace roofline::core
