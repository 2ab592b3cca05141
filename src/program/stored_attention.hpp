// Attention whose scores lie in memory, as kernels before FlashAttention (arXiv 2205.14135) compute it.
#pragma once

#include "program/program.hpp"

namespace roofline::core {

/// Takes every `fuse` block apart that holds a softmax of a product, and that softmax from its product: scores and probabilities are stored
/// and read again. Masks are left out: such kernels compute whole planes. With `dropout` probabilities are multiplied by what a mask of a byte each
/// keeps of them, a kernel of its own in either pass. Other fused kernels stay as they are.
void store_attention(Program& program, bool dropout = false);

}  // namespace roofline::core
