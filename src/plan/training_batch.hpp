// The batch of a training step: tokens divided into sequences, micro-batches and shards.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.hpp"

namespace roofline::core {

/// The tokens of one training step, all chips together.
struct TrainingBatch {
    std::int64_t tokens = 0;
    std::int64_t sequence = 0;      ///< tokens of each sequence
    std::int64_t microbatches = 1;  ///< processed one after another

    /// Returns the sequences of one micro-batch.
    [[nodiscard]] std::int64_t sequences() const { return tokens / sequence / microbatches; }
};

/// The number of shards of a batch.
struct BatchShards {
    std::int64_t sequences = 1;  ///< shards that hold different sequences
    std::int64_t tokens = 1;     ///< shards of each sequence
};

/// Checks a batch. Errors: fewer tokens than shards; tokens that are not a whole number of sequences, with the nearest
/// that are; sequences that do not divide into micro-batches; less than one sequence of a micro-batch per shard.
[[nodiscard]] Status check_batch(const TrainingBatch& batch, const BatchShards& shards);

}  // namespace roofline::core
