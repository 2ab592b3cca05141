// Training in fewer bits: products with parameters are computed, and rows of experts sent, in another dtype than the one that tensors are stored in.
#pragma once

#include "program/adjoint.hpp"
#include "units/dtype.hpp"

namespace roofline::core {

/// Computes the products of a step in `dtype` that read a parameter or make the gradient of one: the three of each layer that
/// mixed-precision recipes for fp8 and fp4 convert. Products of activations, those of attention, stay as they are, and so do all tensors;
/// and so do the products of the parts `embedding`, `head` and `router`, as in DeepSeek-V3 (arXiv 2412.19437, section 3.3.1), Transformer Engine's
/// layers and torchtitan's float8.
/// `dtype` is one that products can be computed in.
void compute_weights_in(TrainingProgram& step, Dtype dtype);

/// Sends the rows of experts, and keeps them, in `dtype`: what is dispatched of tokens forward, and of gradients backward. What comes back from
/// experts is added up and stays as it is (DeepSeek-V3, arXiv 2412.19437, section 3.3.2). Nothing changes in a step without experts.
void dispatch_in(TrainingProgram& step, Dtype dtype);

}  // namespace roofline::core
