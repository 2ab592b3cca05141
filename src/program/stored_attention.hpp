// Attention with stored scores, as in kernels before FlashAttention (arXiv 2205.14135).
#pragma once

#include "program/program.hpp"

namespace roofline::core {

/// Splits every `fuse` block that holds a softmax of a contraction into separate kernels: scores and probabilities are
/// stored and read again. Masks are dropped, because such kernels compute whole planes. With `dropout` probabilities
/// are multiplied by a mask of one byte each, in a separate kernel in either pass. Other fused kernels stay as they
/// are.
void store_attention(Program& program, bool dropout = false);

}  // namespace roofline::core
