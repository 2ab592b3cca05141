// Training in fewer bits: products with parameters are computed in another dtype than the one that tensors are stored in.
#pragma once

#include "program/adjoint.hpp"
#include "units/dtype.hpp"

namespace roofline {

/// Computes the products of a step in `dtype` that read a parameter or make the gradient of one: the three of each layer that
/// mixed-precision recipes for fp8 and fp4 convert. Products of activations, those of attention, stay as they are, and so do all tensors.
/// `dtype` is one that products can be computed in.
void compute_weights_in(TrainingProgram& step, Dtype dtype);

}  // namespace roofline
