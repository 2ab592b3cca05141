// The throughput-latency frontier of an answer about serving.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "predict/serve/serving_slices.hpp"

namespace roofline::core {

/// The slice of an answer and what its batches have in common.
struct FrontierSlice {
    const ServingSetup& setup;
    double prefill_activations = 0;  ///< bytes of one chip
    std::int64_t block = 0;          ///< tokens per block of the KV cache that was asked for; 0: none
};

/// Adds the frontier to an answer whose plan, batch and largest batch are known, and finds its knee. The batches are
/// the smallest that occupies all members of the plan, doubled up to the largest batch, and additionally the largest
/// and the requested batch. Errors: those of priced_splits(), memory_of(), draft_pass() and least_of().
[[nodiscard]] Status add_frontier(ServeAnswer& answer, const FrontierSlice& slice);

}  // namespace roofline::core
