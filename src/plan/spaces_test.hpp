// A space of plans for tests.
#pragma once

#include <cstdint>

#include "plan/plan_space.hpp"

namespace roofline::core {

/// The plans of a dense model of 32 layers with 8 KV heads, on 64 sequences of 4,096 tokens.
inline PlanSpace space_of(std::int64_t chips) {
    PlanSpace space;
    space.chips = chips;
    space.layers = 32;
    space.sequence = 4096;
    space.sequences = 64;
    space.heads = 8;
    space.queries = 4;
    return space;
}

}  // namespace roofline::core
