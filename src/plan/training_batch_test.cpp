#include "plan/training_batch.hpp"

#include <doctest/doctest.h>

namespace roofline::core {

namespace {

std::string code_of(const TrainingBatch& batch, const BatchShards& shards) {
    const auto status = check_batch(batch, shards);
    return status ? "" : status.error().code;
}

}  // namespace

// Scaling book, chapter 6: 4 Mi tokens in sequences of 4096 are 1024 sequences, so at most 1024 chips can share the
// batch without dividing sequences.
TEST_CASE("a batch has at most as many shards as it has sequences") {
    const TrainingBatch batch{4 << 20, 4096, 1};
    CHECK(batch.sequences() == 1024);
    CHECK(code_of(batch, {1024, 1}) == "");
    CHECK(code_of(batch, {1025, 1}) == "small_batch");
    CHECK(code_of(batch, {1024, 8}) == "");
    CHECK(code_of({4 << 20, 4096, 2}, {1024, 1}) == "small_batch");
}

TEST_CASE("a batch of fewer tokens than shards says how many are needed") {
    const auto status = check_batch({4096, 4096, 1}, {4096, 2});
    REQUIRE_FALSE(status);
    CHECK(status.error().code == "small_batch");
    CHECK(status.error().hint.find("8192") != std::string::npos);
}

TEST_CASE("a batch that is not a whole number of sequences names the nearest that are") {
    const auto status = check_batch({4'000'000, 4096, 1}, {1, 1});
    REQUIRE_FALSE(status);
    CHECK(status.error().code == "uneven_batch");
    CHECK(status.error().hint == "use 3997696 (976 sequences) or 4001792 (977 sequences)");
    CHECK(check_batch({100, 4096, 1}, {1, 1}).error().hint == "use 4096 (1 sequence)");
    // The next whole number of sequences would be beyond 2^63.
    const std::int64_t most = 9223372036854775807;
    CHECK(check_batch({most, most - 1, 1}, {1, 1}).error().hint.ends_with("another --seq"));
}

TEST_CASE("sequences that do not divide into micro-batches name the nearest number that does") {
    const auto hint = [](std::int64_t sequences, std::int64_t microbatches) {
        const auto status = check_batch({sequences * 4096, 4096, microbatches}, {1, 1});
        return status ? "none" : status.error().hint;
    };
    CHECK(hint(12, 8) == "use --microbatches 6");
    CHECK(hint(12, 5) == "use --microbatches 6");  // 4 is as near
    CHECK(hint(128, 7) == "use --microbatches 8");
    CHECK(hint(12, 100) == "use --microbatches 12");
    CHECK(hint(7, 3) == "use --microbatches 1");
}

}  // namespace roofline::core
