// Experts of limited capacity: a fixed number of places per sequence, and tokens beyond them are dropped.
#pragma once

#include "program/program.hpp"

namespace roofline::core {

/// Gives each expert ceil(capacity * tokens * choices / experts) places per sequence, as GShard (arXiv 2006.16668,
/// algorithm 1) and the dropping strategy of MaxText do. Tokens get to their places and back by matmuls with masks
/// [sequences, tokens, experts, places], so that
///     Xe[E,C,D] = dispatch[E,C](X, Ids)    becomes   Xe[B,E,P,D] = X *_T Places[B,T,E,P]
///     M[B,T,D] = combine[E,C,A](Ye, Share) becomes   Weights = Places * Scores[B,T,E] ; M = Ye *_{E,P} Weights
/// and every value with rows of experts has places of each sequence instead. All places are computed, used or not.
/// Scores are those of the router, whose gradient goes through the weights; the masks have none.
/// `capacity` is above 0. The last dimension that tokens and their choices share is that of a sequence's tokens.
/// Dimensions without a size count 1; numbers of places are at most 2^50.
void limit_experts(Program& program, double capacity);

}  // namespace roofline::core
