#include "plan/training_batch.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>

#include "units/text.hpp"

namespace roofline::core {

namespace {

// "use 4,190,208 (1,023 sequences) or 4,194,304 (1,024)"
std::string nearest_batches(const TrainingBatch& batch) {
    const std::int64_t fewer = batch.tokens / batch.sequence;
    std::string text = "use ";
    if (fewer > 0) text += fmt::format("{} ({} sequences) or ", fewer * batch.sequence, grouped(fewer));
    const std::int64_t more = fewer + 1;
    if (more > std::numeric_limits<std::int64_t>::max() / batch.sequence) return text + "another --seq";
    return text + fmt::format("{} ({} {})", more * batch.sequence, grouped(more), more == 1 ? "sequence" : "sequences");
}

// Returns the divisor of `sequences` that is nearest to `wanted`; of two the greater one, whose micro-batches take less
// memory.
std::int64_t nearest_divisor(std::int64_t sequences, std::int64_t wanted) {
    std::int64_t nearest = 1;
    const auto take = [&](std::int64_t divisor) {
        const std::int64_t nearer = std::abs(divisor - wanted) - std::abs(nearest - wanted);
        if (nearer < 0 || (nearer == 0 && divisor > nearest)) nearest = divisor;
    };
    for (std::int64_t i = 1; i <= sequences / i && i <= 1 << 20; ++i) {
        if (sequences % i != 0) continue;
        take(i);
        take(sequences / i);
    }
    return nearest;
}

}  // namespace

Status check_batch(const TrainingBatch& batch, const BatchShards& shards) {
    const std::int64_t ways = shards.sequences * shards.tokens;
    if (batch.tokens < ways) {
        return fail(
            "small_batch",
            fmt::format("a batch of {} tokens is too small for {} shards", grouped(batch.tokens), grouped(ways)),
            fmt::format("each shard needs at least one token: use --batch-tokens {} or more, or fewer shards", ways));
    }
    if (batch.tokens % batch.sequence != 0) {
        return fail("uneven_batch",
                    fmt::format("{} tokens are not a whole number of sequences of {}", grouped(batch.tokens),
                                grouped(batch.sequence)),
                    nearest_batches(batch));
    }
    const std::int64_t sequences = batch.tokens / batch.sequence;
    if (sequences % batch.microbatches != 0) {
        return fail("uneven_batch",
                    fmt::format("{} sequences do not divide into {} micro-batches", grouped(sequences),
                                grouped(batch.microbatches)),
                    fmt::format("use --microbatches {}", nearest_divisor(sequences, batch.microbatches)));
    }
    if (batch.sequences() < shards.sequences) {
        return fail(
            "small_batch",
            fmt::format("{} {} of {} tokens{} are too few for {} shards of whole sequences", grouped(batch.sequences()),
                        batch.sequences() == 1 ? "sequence" : "sequences", grouped(batch.sequence),
                        batch.microbatches > 1 ? " in a micro-batch" : "", grouped(shards.sequences)),
            "to use less than one sequence per shard, split its tokens as well: context=2 in --mesh halves the "
            "number of sequences needed; or use a larger batch, or fewer micro-batches");
    }
    return {};
}

}  // namespace roofline::core
