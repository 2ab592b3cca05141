// How many sequences the memory of a slice has room for: all of it, or the part that a server uses.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "calibrate/server/server_memory.hpp"
#include "predict/serve/serving_slices.hpp"

namespace roofline::core {

/// Sequences of a model on a slice, with the passes that take memory beside them.
struct SequencesOnSlice {
    PlannedSlice slice;
    CacheSplit caches = CacheSplit::heads;
    std::int64_t tokens = 1;         ///< of a sequence: prompt and output
    double prefill_activations = 0;  ///< bytes of one chip
    const Prediction& decode;        ///< a decode pass, whose layout holds for other batches
    double capacity = 0;             ///< bytes of one chip
};

/// Returns the chips of a slice as servers count them.
[[nodiscard]] ServerChips server_chips(const PlannedSlice& slice, double capacity);

/// Returns the largest number of sequences, up to `most`, whose caches have room by a rule; 0 if not even one has.
/// Errors: those of memory_of().
[[nodiscard]] Result<std::int64_t> sequences_with_room(const SequencesOnSlice& on, const MemoryRule& rule,
                                                       std::int64_t most);

/// Returns the room of a server with at most `most` sequences. Errors: those of memory_of().
[[nodiscard]] Result<ServedRoom> served_room(const SequencesOnSlice& on, const MemoryRule& rule, std::int64_t most);

/// Returns why a server has no room for a sequence of so many tokens, and what would give it some.
[[nodiscard]] Error no_room(const ServedRoom& room, double capacity, std::int64_t tokens);

}  // namespace roofline::core
