// Merges matmuls that share their input into one kernel, as serving frameworks do.
#pragma once

#include "program/program.hpp"

namespace roofline::core {

/// Puts statements of one part that multiply the same tensor with parameters, over the same dimensions and in the same
/// arithmetic, into a `fuse` block at the position of the first of them. In serving frameworks the projections to
/// queries, keys and values, or to the latents of both, are one matmul because their weights are adjacent in memory. A
/// statement is merged only if nothing in between reads or writes what would be moved. Existing `fuse` blocks do not
/// change.
void merge_matmuls(Program& program);

}  // namespace roofline::core
