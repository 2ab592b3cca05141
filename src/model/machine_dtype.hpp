// The 16-bit dtype that a model is computed in on a machine.
#pragma once

#include <string>

#include "machine/machine.hpp"
#include "model/model.hpp"

namespace roofline::core {

/// Returns the 16-bit dtype in which frameworks compute models on the machine: f16 if its matrix units have a rate for
/// f16 but none for bf16 (V100, T4, Groq), otherwise bf16.
[[nodiscard]] Dtype sixteen_bits_of(const Machine& machine);

/// Turns bf16 into sixteen_bits_of(), which has as many bytes, in all tensors and operations of a model's program.
/// Programs in the notation keep the dtypes that are written.
void use_sixteen_bits_of(const Machine& machine, Program& program);
/// Does this to the program of a model and adds sixteen_bits_note() to its notes.
void use_sixteen_bits_of(const Machine& machine, Model& model);
/// Returns the note for a machine that computes models in another dtype than bf16; "" for all others.
[[nodiscard]] std::string sixteen_bits_note(const Machine& machine);

}  // namespace roofline::core
