// A step's batch: tokens cut into sequences, microbatches and shards.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"

namespace roofline::core {

/// Tokens of one step, all chips together.
struct TrainingBatch {
    std::int64_t tokens = 0;
    std::int64_t sequence = 0;      ///< tokens of each
    std::int64_t microbatches = 1;  ///< one after the other

    /// Sequences of one microbatch.
    [[nodiscard]] std::int64_t sequences() const { return tokens / sequence / microbatches; }
};

/// How many ways a plan divides the batch.
struct BatchShards {
    std::int64_t sequences = 1;  ///< shards that hold different sequences
    std::int64_t tokens = 1;     ///< into which each sequence is cut
};

/// Checks a batch. Errors: fewer tokens than shards; tokens that are no whole number of sequences, with the nearest that are;
/// sequences that no whole number of which makes a microbatch; less than one sequence of a microbatch for a shard.
[[nodiscard]] Status check_batch(const TrainingBatch& batch, const BatchShards& shards);

}  // namespace roofline::core
