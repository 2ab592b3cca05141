// The slices that prefill for others that decode, and the caches that they send.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "predict/serve/serving_slices.hpp"

namespace roofline::core {

/// A question for disaggregated serving.
struct DisaggregatedQuestion {
    std::optional<Slice> prefill{};   ///< empty: slices like those that decode, with the same plan unless one is given
    std::string machine{};            ///< name of its machine in the answer; "": its id
    std::optional<Plan> plan{};       ///< of `prefill`; empty: the one that processes the most prompts per second
    std::int64_t prefill_slices = 0;  ///< under a load; 0: as many as the slices that decode keep busy, at least 1
    std::int64_t decode_slices = 1;   ///< under a load
    bool by_layer = false;            ///< caches are sent layer by layer
};

/// A pool with its prefill of one prompt per member.
struct ChosenPool {
    PrefillPool pool;
    Prediction prefill;
};

/// Returns the pool of a question with the memory of a slice, without its room, `slices` and `rates`. If no plan is
/// given it is the one that processes the most prompts of `prompt` tokens per second, in chunks of `chunk` tokens for
/// memory, of those that fit. Errors: those of priced_pass().
[[nodiscard]] Result<ChosenPool> choose_prefill_pool(const ServingSetup& setup, const std::optional<Plan>& plan,
                                                     std::int64_t prompt, std::int64_t chunk);

/// Sets the prompt tokens that a slice of a pool has room for by a server's rule, if the memory of its chips is known.
/// Errors: those of kept_memory().
[[nodiscard]] Status find_prefill_room(PrefillPool& pool, const ServingSetup& setup, const MemoryChoice& choice,
                                       std::int64_t prompt);

/// Returns the transfer of prompts of `prompt` tokens to a slice whose caches are split by `caches`. Each chip that
/// decodes receives its part of the caches, at the rate of its links of the outermost network tier; the chips that
/// prefilled the prompt share the sending evenly. Errors: `no_network` if a machine's file has no such rate; those of
/// kept_memory().
[[nodiscard]] Result<CacheTransfer> cache_transfer(const PlannedSlice& prefill, const PlannedSlice& decode,
                                                   CacheSplit caches, std::int64_t prompt);

}  // namespace roofline::core
