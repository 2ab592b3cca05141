#include "predict/serve/served_room.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "units/quantity.hpp"
#include "units/text.hpp"

namespace roofline::core {

ServerChips server_chips(const PlannedSlice& slice, double capacity) {
    return {capacity, slice.plan.chips(), slice.plan.pipeline, prompts_at_once(slice.plan)};
}

namespace {

// Sequences that each hold whole blocks.
Result<KeptMemory> kept_by(const SequencesOnSlice& on, std::int64_t block) {
    return KeptMemory::make(on.slice.setup, on.slice.plan, on.caches, in_blocks(on.tokens, block), true);
}

ServingMemory memory_with(const SequencesOnSlice& on, const KeptMemory& kept, std::int64_t sequences) {
    return memory_of(kept, on.slice.plan, sequences, on.prefill_activations, on.decode);
}

// Memory grows monotonically with the batch, and nearly in proportion, so that the answer is close to where a line
// through two batches has no room left. From there the search widens until the answer lies between, and then bisects.
std::int64_t sequences_kept(const SequencesOnSlice& on, const KeptMemory& kept, const MemoryRule& rule,
                            std::int64_t most) {
    const auto left = [&](std::int64_t sequences) {
        const ServingMemory memory = memory_with(on, kept, sequences);
        return cache_room(rule, on.capacity, memory.weights, memory.activations) - memory.kv;
    };
    if (most < 1) return 0;
    const double first = left(1);
    if (first < 0) return 0;
    constexpr std::int64_t far = 1024;
    const std::int64_t second = std::min(most, far);
    const double at_second = left(second);
    std::int64_t low = at_second >= 0 ? second : 1;          // has room
    std::int64_t high = at_second >= 0 ? most + 1 : second;  // has none
    const double slope = second > 1 ? (first - at_second) / static_cast<double>(second - 1) : 0;
    const double guess = slope > 0 ? 1 + first / slope : static_cast<double>(most);
    auto next = static_cast<std::int64_t>(std::clamp(guess, 1.0, static_cast<double>(most)));
    std::int64_t step = 1;
    while (high - low > 1) {
        next = std::clamp(next, low + 1, high - 1);
        const double there = left(next);
        const bool fits = there >= 0;
        (fits ? low : high) = next;
        const bool between = high <= most && step > far;
        next = between ? low + (high - low) / 2 : fits ? low + step : high - step;
        step *= 2;
    }
    return low;
}

}  // namespace

Result<std::int64_t> sequences_with_room(const SequencesOnSlice& on, const MemoryRule& rule, std::int64_t most) {
    ROOFLINE_TRY(const auto kept, kept_by(on, rule.block));
    return sequences_kept(on, kept, rule, most);
}

Result<ServedRoom> served_room(const SequencesOnSlice& on, const MemoryRule& rule, std::int64_t most) {
    ServedRoom room;
    room.rule = rule;
    ROOFLINE_TRY(const auto kept, kept_by(on, rule.block));
    room.max_batch = sequences_kept(on, kept, rule, most);
    room.least = memory_with(on, kept, 1);
    const ServingMemory memory = memory_with(on, kept, std::max<std::int64_t>(1, room.max_batch));
    room.cache_bytes = std::max(0.0, cache_room(rule, on.capacity, memory.weights, memory.activations));
    if (room.max_batch < 1 || !(memory.kv > 0)) return room;
    const std::int64_t held = in_blocks(on.tokens, rule.block) / rule.block * room.max_batch;
    const double blocks = static_cast<double>(held) * room.cache_bytes / memory.kv;
    constexpr double most_blocks = 1e15;
    room.tokens = static_cast<std::int64_t>(std::min(blocks, most_blocks)) * rule.block;
    return room;
}

Error no_room(const ServedRoom& room, double capacity, std::int64_t tokens) {
    const auto bytes = [](double value) { return to_text(Bytes{value}); };
    const MemoryRule& rule = room.rule;
    const ServingMemory& least = room.least;
    const std::string by = rule.software.empty() ? "the server" : rule.software;
    const double left = cache_room(rule, capacity, least.weights, least.activations);
    const double fraction = least_fraction(rule.of, capacity, least.weights, least.activations, least.kv);
    constexpr double digits = 1000;
    const double needed = std::ceil(fraction * digits) / digits;
    std::string used = bytes(capacity);
    if (rule.of == MemoryShare::unmoving) used += " beside activations";
    if (rule.of == MemoryShare::left) used = "what weights and activations leave of " + used;
    return {
        "does_not_fit",
        fmt::format("{} has no room for the KV cache of a sequence of {} tokens, {} per chip: it uses {} % of {}, and "
                    "weights of {} and activations of {} leave {}",
                    by, tokens, bytes(least.kv), percent_text(rule.fraction), used, bytes(least.weights),
                    bytes(least.activations), left > 0 ? bytes(left) : "nothing"),
        needed <= 1 ? fmt::format("--memory-fraction {} would be enough, or more chips, or shorter sequences", needed)
                    : std::string("give more chips, shorter sequences or a smaller dtype of weights or KV cache"),
        {}};
}

}  // namespace roofline::core
