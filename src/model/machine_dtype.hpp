// The 16-bit dtype that a model is computed in on a machine.
#pragma once

#include "machine/machine.hpp"
#include "model/model.hpp"

namespace roofline::core {

/// Returns the 16-bit dtype in which frameworks compute models there: f16 where matrix units have a rate for it and
/// none for bf16 (V100, T4, Groq), bf16 elsewhere.
[[nodiscard]] Dtype sixteen_bits_of(const Machine& machine);

/// Turns all tensors and operations in bf16 into those of sixteen_bits_of(), which have as many bytes, with a note if
/// that is another dtype. A program in the notation keeps the dtypes that are written.
void use_sixteen_bits_of(const Machine& machine, Model& model);

}  // namespace roofline::core
