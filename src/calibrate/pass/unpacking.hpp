// How weights of GGUF's block types are unpacked, which decides what types are alike in speed.
#pragma once

#include <string_view>

#include "calibrate/pass/pass_model.hpp"

namespace roofline::core {

enum class Unpacking {
    none,      ///< floating-point numbers: f16
    scaled,    ///< integers times a scale of 32 of them: q4_0 to q8_0
    nested,    ///< scales that are integers times a scale of 256 weights: q2_k to q6_k
    codebook,  ///< indices of groups of values: iq1_s to iq3_s
    table,     ///< indices of 16 values: iq4_nl, iq4_xs, mxfp4
    any        ///< of various types
};

/// Returns how a type of weights, "q4_k", is unpacked; `any` if it is none of these.
[[nodiscard]] Unpacking unpacking_of(std::string_view type);

/// Returns how all types of these products are unpacked; `any` if they differ.
[[nodiscard]] Unpacking unpacking_of(const PassProducts& products);

}  // namespace roofline::core
