// What servers have room for, by their fraction of the memory and their blocks.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "app/serve_request_test.hpp"
#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

// Llama 3.1 8B on an H100 of 80 GiB: 8,030,261,248 parameters in bf16; keys and values of 8 heads of 128 in 32 layers.
constexpr double h100_bytes = 80.0 * 1024 * 1024 * 1024;
constexpr double llama_weights = 2 * 8'030'261'248.0;
constexpr std::int64_t llama_token_bytes = 2 * 2 * 8 * 128 * 32;

nlohmann::json served_by(const char* software, const char* fraction = "", const char* block = "") {
    ServeRequest request = llama({"h100-sxm:1"});
    request.software = software;
    request.memory_fraction = fraction;
    request.block = block;
    return json_of(request);
}

std::int64_t blocks_of(double bytes, std::int64_t block) {
    return static_cast<std::int64_t>(bytes / static_cast<double>(llama_token_bytes * block));
}

}  // namespace

TEST_CASE("a server has room in the part of the memory that it uses, in whole blocks") {
    const auto vllm = served_by("vllm")["server_memory"];
    CHECK(vllm["software"] == "vllm");
    CHECK(vllm["fraction"] == 0.9);
    CHECK(vllm["of"] == "all");
    CHECK(vllm["block_tokens"] == 16);
    const double cache = vllm["cache_bytes_per_chip"];
    // activations of prompts of 1000 tokens are less than 1 GB
    CHECK(cache < 0.9 * h100_bytes - llama_weights);
    CHECK(cache > 0.9 * h100_bytes - llama_weights - 1e9);
    CHECK(vllm["tokens"] == 16 * blocks_of(cache, 16));
    // 1256 tokens are 79 blocks
    CHECK(vllm["max_batch"] == blocks_of(cache, 16) / 79);

    const auto sglang = served_by("sglang")["server_memory"];
    // 1 - (512 + 12288 + 512 + 128) / 81920, of weights and KV cache
    CHECK(sglang["fraction"] == 0.836);
    CHECK(sglang["cache_bytes_per_chip"].get<double>() == approx(0.836 * h100_bytes - llama_weights));
    CHECK(sglang["tokens"] == blocks_of(0.836 * h100_bytes - llama_weights, 1));

    const auto trtllm = served_by("trtllm")["server_memory"];
    CHECK(trtllm["of"] == "free");
    CHECK(trtllm["cache_bytes_per_chip"].get<double>() == approx(0.9 * (cache + 0.1 * h100_bytes)).epsilon(0.01));
}

TEST_CASE("SGLang's fraction is that of the plan's chips, stages and members") {
    ServeRequest request = llama({"h100-sxm:8"});
    request.software = "sglang";
    request.mesh = {"tensor=2", "pipeline=4"};
    // in MiB: 1 - (512 + 12288 + 512 + 1024) / 81920, with the small graphs of two chips per stage
    CHECK(json_of(request)["server_memory"]["fraction"] == 0.825);
    request.config = {"mixtral-8x7b", ""};
    request.mesh = {"expert=8"};
    // attention by 8 members: 1 - (512 + 12288 + 1024 + 1024 + 512 * 8 * 4.5) / 81920
    CHECK(json_of(request)["server_memory"]["fraction"] == 0.594);
}

TEST_CASE("what the memory holds does not depend on the server, what it chose does") {
    const auto vllm = served_by("vllm");
    const auto sglang = served_by("sglang");
    for (const char* const key : {"memory_bytes_per_chip", "fits", "max_batch"}) CHECK(vllm[key] == sglang[key]);
    CHECK(vllm["memory_bytes_per_chip"]["kv"] == 16 * 1256 * llama_token_bytes);
    CHECK(vllm["max_batch"] > vllm["server_memory"]["max_batch"]);
    const auto half = served_by("sglang", "50%");
    CHECK(half["max_batch"] == sglang["max_batch"]);
    CHECK(half["server_memory"]["cache_bytes_per_chip"].get<double>() == approx(0.5 * h100_bytes - llama_weights));
    // blocks that were asked for round up everywhere: 1256 tokens are 20 blocks of 64
    const auto blocks = served_by("sglang", "", "64");
    CHECK(blocks["memory_bytes_per_chip"]["kv"] == 16 * 1280 * llama_token_bytes);
    CHECK(blocks["max_batch"] < sglang["max_batch"]);
    CHECK(blocks["server_memory"]["tokens"] == 64 * blocks_of(0.836 * h100_bytes - llama_weights, 64));
}

TEST_CASE("without a server the room is that of a fraction that was given, or none is said") {
    ServeRequest request = llama({"gaudi3:4"});
    CHECK(json_of(request)["server_memory"].is_null());
    request.memory_fraction = "0.8";
    const auto json = json_of(request);
    CHECK(json["server_memory"]["software"].is_null());
    CHECK(json["server_memory"]["fraction"] == 0.8);
    CHECK(json["server_memory"]["block_tokens"] == 1);
    CHECK(json["server_memory"]["max_batch"] < json["max_batch"]);
}

TEST_CASE("a server without room for a request says what does not fit and what would") {
    ServeRequest request = llama({"h100-sxm:1"});
    request.software = "vllm";
    request.memory_fraction = "0.1";
    const auto json = json_of(request);
    CHECK(json["server_memory"]["max_batch"] == 0);
    CHECK(json["under_load"].is_null());
    CHECK(answered(request, Format::text).out.find("has no room for the KV cache of a sequence") != std::string::npos);
    request.concurrency = "4";
    const auto refused = handle(request, Format::json);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "does_not_fit");
    CHECK(refused.error().message.find("weights of 16.1 GB") != std::string::npos);
    // (weights + activations + 1264 tokens) / capacity, rounded up
    const std::string& hint = refused.error().hint;
    REQUIRE(hint.starts_with("--memory-fraction 0."));
    request.memory_fraction = hint.substr(18, hint.find(' ', 18) - 18);
    CHECK(json_of(request)["server_memory"]["max_batch"] >= 1);
}

TEST_CASE("fractions of memory and blocks that cannot be are refused") {
    for (const char* const wrong : {"0", "1.01", "-0.5", "nan", "0%", "101%", "much", "0.9x"}) {
        ServeRequest request = llama({"h100-sxm:1"});
        request.memory_fraction = wrong;
        const auto refused = handle(request, Format::json);
        REQUIRE_FALSE_MESSAGE(refused, wrong);
        CHECK(refused.error().message.find("--memory-fraction") != std::string::npos);
    }
    for (const char* const wrong : {"0", "-1", "x", "1e30", "16777217"}) {
        ServeRequest request = llama({"h100-sxm:1"});
        request.block = wrong;
        const auto refused = handle(request, Format::json);
        REQUIRE_FALSE_MESSAGE(refused, wrong);
        CHECK(refused.error().message.find("--block") != std::string::npos);
    }
}
