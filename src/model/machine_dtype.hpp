// The 16-bit dtype that a model is computed in on a machine.
#pragma once

#include <string>

#include "machine/machine.hpp"
#include "model/model.hpp"

namespace roofline::core {

/// Returns the 16-bit dtype in which frameworks compute models there: f16 where matrix units have a rate for it and
/// none for bf16 (V100, T4, Groq), bf16 elsewhere.
[[nodiscard]] Dtype sixteen_bits_of(const Machine& machine);

/// Turns all tensors and operations of a model's program in bf16 into those of sixteen_bits_of(), which have as many
/// bytes. A program in the notation keeps the dtypes that are written.
void use_sixteen_bits_of(const Machine& machine, Program& program);
/// Does this to a model, with sixteen_bits_note().
void use_sixteen_bits_of(const Machine& machine, Model& model);
/// Returns the note on a machine that computes models in another dtype than bf16; "" of any other.
[[nodiscard]] std::string sixteen_bits_note(const Machine& machine);

}  // namespace roofline::core
