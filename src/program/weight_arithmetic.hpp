// Low-precision training: matmuls with parameters are computed, and rows for experts are sent, in another dtype than
// the one in which tensors are stored.
#pragma once

#include <string_view>

#include "program/adjoint.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// Returns whether the weights of a part of a model, and matmuls with them, stay in 16 bits: `embedding`, `head` and
/// `router`, as in DeepSeek-V3 (arXiv 2412.19437, section 3.3.1), Transformer Engine's layers and torchtitan's float8,
/// and adapters.
[[nodiscard]] bool stays_wide(std::string_view part);

/// Computes in `dtype` those matmuls of a step that read a parameter or compute the gradient of one: the three of each
/// layer that mixed-precision recipes for fp8 and fp4 convert. Contractions of activations, those of attention, stay as
/// they are, and so do all tensors; so do the matmuls of the parts for which stays_wide() holds. Matmuls must be
/// possible in `dtype`.
void compute_weights_in(TrainingProgram& step, Dtype dtype);

/// Sends the rows of experts, and keeps them, in `dtype`: the dispatch of tokens forward, and of gradients backward.
/// The combine is summed and stays as it is (DeepSeek-V3, arXiv 2412.19437, section 3.3.2). A step without experts is
/// not changed.
void dispatch_in(TrainingProgram& step, Dtype dtype);

}  // namespace roofline::core
