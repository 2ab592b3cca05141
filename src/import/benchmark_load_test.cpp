#include "import/benchmark_load.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace roofline::core;

namespace {

const BenchmarkLoad& published(std::string_view source, std::string_view notes = {}, double in_flight = 0) {
    const BenchmarkLoad* const found = built_in_benchmark_loads().find(source, notes, in_flight);
    REQUIRE(found != nullptr);
    return *found;
}

}  // namespace

TEST_CASE("InferenceX draws lengths from 0.8 to 1 of the stated ones, ten requests per one in flight") {
    const BenchmarkDrive drive = published("aic-silicon", "vllm 0.19.0 2026-04-17").of(1024, 8192, 64, "vllm 0.19.0");
    REQUIRE(drive.lengths);
    const LengthDistribution& prompt = drive.lengths->prompt;
    CHECK(prompt.kind == LengthDistribution::Kind::uniform);
    CHECK(prompt.least == 819);  // int(1024 * 0.8)
    CHECK(prompt.most == 1024);
    CHECK(drive.lengths->output.least == 6553);
    CHECK(mean_length(drive.lengths->output) == 7372.5);
    CHECK(drive.requests == 640);
    CHECK_FALSE(drive.at_once);
    CHECK(drive.rate == 0);
    CHECK(drive.memory_fraction == 0.9);
    // --mem-fraction-static and free_gpu_memory_fraction of its scripts
    CHECK(published("aic-silicon", "2026-04-17").of(1024, 1024, 4, "sglang 0.5.9").memory_fraction == 0.85);
    CHECK(published("aic-silicon", "2026-04-17").of(1024, 1024, 4, "trtllm 1.2").memory_fraction == 0.8);
    CHECK_FALSE(published("aic-silicon", "2026-04-17").of(1024, 1024, 4, "other").memory_fraction);
}

TEST_CASE("samples without a date were measured elsewhere") {
    CHECK(built_in_benchmark_loads().find("aic-silicon", "trtllm 1.0.0rc3", 0) == nullptr);
    CHECK(built_in_benchmark_loads().find("aic-silicon", "2026-04-1", 0) == nullptr);
    CHECK(built_in_benchmark_loads().find("somebody", "2026-04-17", 0) == nullptr);
    CHECK(built_in_benchmark_loads().find("unlike aic-silicon", "2026-04-17", 0) == nullptr);
}

TEST_CASE("TensorRT-LLM's tables are of equal requests that are all there in the beginning") {
    const BenchmarkLoad& load = published("TensorRT-LLM perf-overview@00f3768 (v1.0)");
    const BenchmarkDrive drive = load.of(128, 2048, 0, "trtllm");
    CHECK(drive.at_once);
    CHECK(drive.requests == 3000);
    CHECK(drive.memory_fraction == 0.95);
    REQUIRE(drive.lengths);
    CHECK(draw_requests(*drive.lengths, 2) == std::vector<RequestTokens>{{128, 2048}, {128, 2048}});
    // lengths that its page does not list
    CHECK(load.of(128, 2049, 0, "trtllm").requests == 0);
    CHECK_FALSE(load.of(128, 2049, 0, "trtllm").at_once);
}

TEST_CASE("an open loop has a rate and a number of requests") {
    const BenchmarkDrive drive = published("LLMServingSim bench (real vLLM)").of(857, 653, 128, "vllm");
    CHECK(drive.rate == 10);
    CHECK(drive.requests == 300);
    CHECK_FALSE(drive.lengths);
}

// The benchmark commands of its pages: three requests for each in flight and exact lengths, or 100 requests whose
// lengths are uniform; 50,561 prompt and 52,444 output tokens in 100 requests of Qwen3-MoE.md.
TEST_CASE("sglang-jax measured TTFT in separate runs, and some loads with random lengths") {
    const char* const source = "sgl-project/sglang-jax@cddbf6f1cc33 docs/cookbook/autoregressive/Qwen/Qwen3.md";
    const BenchmarkDrive sweep =
        published(source, "sglang-jax; TTFT from a run with 1 output token; ITL").of(4096, 1024, 64, "sglang-jax");
    CHECK(sweep.first_tokens_alone);
    CHECK(sweep.prompts_first);
    CHECK(sweep.requests == 192);
    CHECK(sweep.chunk == 2048);
    CHECK(sweep.memory_fraction == 0.8);
    REQUIRE(sweep.lengths);
    CHECK(draw_requests(*sweep.lengths, 1) == std::vector<RequestTokens>{{4096, 1024}});
    const BenchmarkDrive one = published(source, "random lengths up to 1024 likely").of(1024, 1024, 16, "sglang-jax");
    CHECK_FALSE(one.first_tokens_alone);
    CHECK(one.requests == 100);
    REQUIRE(one.lengths);
    CHECK(mean_length(one.lengths->output) == 512.5);
    const char* const experts = "sgl-project/sglang-jax@cddbf6f1cc33 docs/cookbook/autoregressive/Qwen/Qwen3-MoE.md";
    const BenchmarkDrive random = published(experts, "sglang-jax", 16).of(1024, 1024, 16, "sglang-jax");
    REQUIRE(random.lengths);
    CHECK(mean_length(random.lengths->prompt) == doctest::Approx(505.61).epsilon(0.05));
    CHECK(mean_length(random.lengths->output) == doctest::Approx(524.44).epsilon(0.05));
    const BenchmarkDrive exact = published(experts, "sglang-jax", 128).of(1024, 1024, 128, "sglang-jax");
    REQUIRE(exact.lengths);
    CHECK(mean_length(exact.lengths->output) == 1024);
}

TEST_CASE("a broken table of loads is refused") {
    const auto broken = [](const std::string& line) {
        const auto read =
            parse_benchmark_loads("[[benchmark]]\npublisher = \"one\"\nsource = \"s\"\n" + line, "f.toml");
        REQUIRE_FALSE(read);
        return read.error().code;
    };
    CHECK(broken("shortest = 1.1\n") == "out_of_range");
    CHECK(broken("memory_fraction = 2\n") == "out_of_range");
    CHECK(broken("per_concurrency = 0\n") == "out_of_range");
    CHECK(broken("[[benchmark.run]]\nprompt = 1\noutput = 0\nrequests = 1\n") == "out_of_range");
    CHECK(broken("[[benchmark.server]]\nsoftware = \"one\"\nmemory_fraction = 0\n") == "out_of_range");
    CHECK(broken("longest = 1\n") == "unknown_key");
    CHECK(broken("chunk = 0\n") == "out_of_range");
    CHECK(broken("in_flight = 0\n") == "out_of_range");
}
