// Experts of limited capacity: each has a fixed number of places per sequence, and tokens without a place are dropped.
#pragma once

#include "program/program.hpp"

namespace roofline::core {

/// Gives each expert ceil(capacity * tokens * choices / experts) places per sequence, as GShard (arXiv 2006.16668,
/// algorithm 1) and the dropping strategy of MaxText do. Matmuls with masks [sequences, tokens, experts, places] move
/// tokens to their places and back:
///     Xe[E,C,D] = dispatch[E,C](X, Ids)    becomes   Xe[B,E,P,D] = X *_T Places[B,T,E,P]
///     M[B,T,D] = combine[E,C,A](Ye, Share) becomes   Weights = Places * Scores[B,T,E] ; M = Ye *_{E,P} Weights
/// In all other values the rows of an expert are replaced by its places for each sequence. All places are computed,
/// used or not. Scores are those of the router, whose gradient goes through the weights; the masks have no gradient.
/// `capacity`, the capacity factor, is positive. Of the dimensions that X and Ids share, the last one numbers the
/// tokens of a sequence. A dimension without a size counts as 1; an expert has at most 2^50 places.
void limit_experts(Program& program, double capacity);

}  // namespace roofline::core
