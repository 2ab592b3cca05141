// Elementwise work of any kind, as a short list of instructions: what one element of a result is made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "units/dtype.hpp"

namespace roofline::core {

/// The functions of kind `map` of program/functions.hpp; `convert` and moves are `identity`.
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

/// None for what is no element's own business: rope has an instruction of its own, softmax and its like are steps.
[[nodiscard]] std::optional<MapFunction> find_map_function(std::string_view name);
[[nodiscard]] std::string_view name(MapFunction function);

/// One array as a loop nest reads it: how far each loop steps through it, in elements; 0 where it does not depend on the loop.
struct ArrayLoad {
    std::size_t array = 0;  ///< among the step's inputs
    std::vector<std::int64_t> strides;
    std::int64_t offset = 0;  ///< of where all loops begin, in elements
};

/// Instruction i makes register i out of earlier registers. The last one is the result.
struct TapeOp {
    enum class Kind : std::uint8_t {
        load,      ///< loads[load] at the loops' place
        constant,  ///< the number
        function,  ///< of in[0], in[1], in[2]
        rope,      ///< in[0] turned with its neighbour along the last loop, by so many radians: 1 or -1
        causal,    ///< in[0] where loop `column` is not beyond loop `row`, and within the window, else the number
        shifted,   ///< loads[load] where loop `row` with the shift is in [0, below), else 0
    };
    Kind kind = Kind::load;
    MapFunction function = MapFunction::identity;
    std::array<std::size_t, 3> in{};
    double number = 0;
    std::size_t load = 0;
    std::size_t row = 0;
    std::size_t column = 0;
    std::int64_t shift = 0;   ///< causal: what is kept has column <= row + shift
    std::int64_t window = 0;  ///< causal: and column > row + shift - window; 0: however far before
    std::int64_t below = 0;   ///< shifted: places along loop `row`; 0: it has no bounds
};

struct Tape {
    Dtype arithmetic = Dtype::f32;  ///< of every register: f64, f32 or int32
    std::vector<ArrayLoad> loads;
    std::vector<TapeOp> ops;
};

}  // namespace roofline::core
