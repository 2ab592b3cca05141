#include "predict/compare/measured_serving.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

MeasuredServing measured_llama() {
    MeasuredServing row;
    row.model = "LLaMA 7B";
    row.system = "a100_sxm";
    row.dtype = "fp16";
    row.prompt = 1024;
    row.output = 3;
    row.prefill_chips = 1;
    row.tpot_s = 1;
    return row;
}

MeasuredServing vllm() {
    MeasuredServing row = measured_llama();
    row.system = "h100_sxm";
    row.model = "Llama-3.1-8B";
    row.dtype = "bf16";
    row.software = "vllm 0.14.0";
    return row;
}

std::vector<Comparison> compared(const MeasuredServing& row) {
    auto servings = MeasuredServingRuns::make(*MeasuredSystems::make(), Calibrations::built_in());
    REQUIRE(servings);
    auto all = servings->compare(row);
    REQUIRE_MESSAGE(all, all.error().message);
    return std::move(*all);
}

std::string error_of(const MeasuredServing& row) {
    auto servings = MeasuredServingRuns::make(*MeasuredSystems::make(), Calibrations::built_in());
    REQUIRE(servings);
    auto all = servings->compare(row);
    return all ? "" : all.error().message;
}

// Llama 7B: 6,738,415,616 parameters, of which the embedding's 32000 x 4096 are only looked up. The KV cache of a token
// takes 2 x 32 layers x 4096 bytes in fp8.
constexpr double read_weights = (6738415616.0 - 32000.0 * 4096) * 2;
constexpr double token = 2.0 * 32 * 4096;
constexpr double hbm = 2039e9;  // A100 80 GB

}  // namespace

TEST_CASE("a decode step reads weights and caches, over the chips that share them") {
    MeasuredServing row = measured_llama();
    // contexts of 1025 and 1026 tokens
    const auto one = compared(row);
    REQUIRE(one.size() == 1);
    CHECK(one[0].operation == "decode");
    CHECK(one[0].prediction.lower_s == approx((read_weights + 1025.5 * token) / hbm).epsilon(0.002));
    row.decode_chips = row.chips = 4;
    CHECK(compared(row)[0].prediction.lower_s == approx(one[0].prediction.lower_s / 4));
}

TEST_CASE("the batch is what decodes at a time on each worker") {
    MeasuredServing row = measured_llama();
    row.concurrency = 16;
    row.ttft_s = 2;  // as long as the two tokens after the first, so half of the requests decode
    const auto both = compared(row);
    REQUIRE(both.size() == 2);
    CHECK(both[0].prediction.lower_s == approx((read_weights + 8 * 1025.5 * token) / hbm).epsilon(0.005));
    row.decode_workers = 2;
    CHECK(compared(row)[0].prediction.lower_s == approx((read_weights + 4 * 1025.5 * token) / hbm).epsilon(0.005));
    row.decode_workers = 0;
    CHECK(compared(row)[0].prediction.lower_s == approx((read_weights + 1 * 1025.5 * token) / hbm).epsilon(0.005));
}

TEST_CASE("a prompt takes two FLOPs for each weight and token, and attention its own") {
    MeasuredServing row = measured_llama();
    row.tpot_s.reset();
    row.ttft_s = 1;
    row.prompt = 2048;
    const auto found = compared(row);
    REQUIRE(found.size() == 1);
    CHECK(found[0].operation == "prefill");
    // logits of the last token only; causal scores and values take 2 x 2 x 32 x 4096 x 2048^2 / 2 FLOPs; 312 TFLOP/s
    const double products = 2.0 * (6738415616.0 - 2 * 32000.0 * 4096) * 2048;
    const double attention = 2.0 * 2 * 32 * 4096 * 2048 * 2048 / 2;
    CHECK(found[0].prediction.lower_s == approx((products + attention) / 312e12).epsilon(0.002));
    row.prefill_chips = 0;
    CHECK(error_of(row) == "the number of chips for prefill is unknown");
}

TEST_CASE("tokens a second are bound by what a request asks of all chips together") {
    MeasuredServing row = measured_llama();
    row.tpot_s.reset();
    row.prompt = 128;
    row.output = 129;
    row.concurrency = 32;
    row.tokens_per_s = 1000;
    const auto found = compared(row);
    REQUIRE(found.size() == 1);
    CHECK(found[0].operation == "throughput");
    CHECK(found[0].measured_s == approx(1e-3));
    // 32 sequences share a step that reads the weights once; contexts of 129 to 256 tokens
    const double read = read_weights / 32 + 192.5 * token;
    // activations between kernels for a generated and a prompt token: per layer fewer than 20 vectors of 4096 and 5 of
    // 11008
    CHECK(found[0].prediction.lower_s > read / hbm);
    CHECK(found[0].prediction.lower_s < (read + 2 * 32 * (20 * 4096 + 5 * 11008) * 2) / hbm);
}

TEST_CASE("experts are the fewest that tokens can choose, whatever the batch") {
    MeasuredServing row = measured_llama();
    row.model = "DeepSeek-R1";
    row.system = "h200_sxm";
    row.dtype = "fp8";
    row.decode_chips = row.chips = 8;
    row.concurrency = 1;
    row.ttft_s = 1e-9;
    const double one = compared(row)[0].prediction.lower_s;
    row.concurrency = 64;
    const double many = compared(row)[0].prediction.lower_s;
    // 37.6 G active parameters without the embedding's 0.9 G
    CHECK(one == approx(36.6e9 / 4.8e12 / 8).epsilon(0.01));
    // Each further sequence adds 61 x 576 bytes for each of 1025.5 tokens, and activations between kernels: per layer
    // about 20 vectors of 7168, 10 of 128 heads with 192 or 512, and 5 of 2048 for each of 9 experts. Two further
    // experts would add 5 GB.
    const double caches = 63 * 61 * 576 * 1025.5;
    const double handed_on = 63 * 61 * 2.0 * (20 * 7168 + 10 * 128 * 512 + 9 * (2 * 7168 + 5 * 2048));
    CHECK(many - one > caches / 4.8e12 / 8);
    CHECK(many - one < (caches + handed_on) / 4.8e12 / 8);
}

TEST_CASE("an unsaid dtype is the narrowest that the machine multiplies") {
    MeasuredServing row = measured_llama();
    row.dtype = "?";
    row.system = "h100_sxm";
    const double unsaid = compared(row)[0].prediction.lower_s;
    row.dtype = "fp8";
    CHECK(unsaid == compared(row)[0].prediction.lower_s);
    row.dtype = "bf16";
    CHECK(unsaid < compared(row)[0].prediction.lower_s);
}

TEST_CASE("what cannot be compared says why") {
    MeasuredServing row = measured_llama();
    row.model = "nobody-1b";
    CHECK(error_of(row) == "the model `nobody-1b` is not known");
    row = measured_llama();
    row.dtype = "fp7";
    CHECK(error_of(row) == "the dtype `fp7` is not known");
    row = measured_llama();
    row.kv_dtype = "fp7";
    CHECK(error_of(row) == "the dtype `fp7` is not known");
    row = measured_llama();
    row.system = "nothing";
    CHECK(error_of(row) != "");
}

TEST_CASE("more sequences than chips hold caches of say nothing of the batch") {
    // 80 GiB hold the 13.5 GB of weights and KV caches of 1024 x 262144 bytes for about 270 sequences
    MeasuredServing row = measured_llama();
    row.ttft_s = 1e-9;
    row.concurrency = 200;
    // and activations between kernels for 200 tokens, 2 %
    CHECK(compared(row)[0].prediction.lower_s == approx((read_weights + 200 * 1025.5 * token) / hbm).epsilon(0.03));
    row.concurrency = 300;
    CHECK(compared(row)[0].prediction.lower_s == approx((read_weights + 1025.5 * token) / hbm).epsilon(0.002));
}

TEST_CASE("a server under load is expected to take longer than its bound, and says how far off that may be") {
    MeasuredServing row = vllm();
    row.output = 256;
    row.concurrency = 16;
    row.ttft_s = 0.1;
    row.tpot_s = 0.01;
    row.tokens_per_s = 1000;
    const auto all = compared(row);
    REQUIRE(all.size() == 3);
    for (const Comparison& each : all) {
        REQUIRE_MESSAGE(each.prediction.expected_s, each.operation);
        CHECK(*each.prediction.expected_s > each.prediction.lower_s);
    }
    CHECK(all[0].prediction.expected_error);
    // textbook values: 16 GB of weights at 3.35 TB/s take 4.8 ms, and a prompt of 1024 tokens takes 17 ms in bf16; a
    // server adds to both
    CHECK(*all[0].prediction.expected_s > 5e-3);
    CHECK(*all[0].prediction.expected_s < 15e-3);
    CHECK(*all[1].prediction.expected_s > 17e-3);
    CHECK(*all[1].prediction.expected_s < 200e-3);
    // 16 requests of 256 tokens: the time per generated token is a sixteenth of the time per output token, plus prompts
    CHECK(*all[2].prediction.expected_s > *all[0].prediction.expected_s / 16);
    CHECK(*all[2].prediction.expected_s < *all[0].prediction.expected_s / 14);
    CHECK(all[0].not_expected.empty());
    CHECK(all[0].model == "llama-3.1-8b");
    CHECK(all[0].mode == "aggregated");
    REQUIRE(all[0].load);
    CHECK(all[0].load->concurrency == 16);
    CHECK(all[0].load->chips == 1);
    row.all_chips = false;
    CHECK(compared(row)[0].load->chips == 0);
    row.software = "homemade 1.0";
    CHECK_FALSE(compared(row)[0].prediction.expected_s);
    for (const Comparison& each : compared(row)) CHECK(each.not_expected == "`homemade 1.0` has no constants");
    row.software = "vllm 0.14.0";
    row.worker.tensor = 2;  // but the worker has one chip
    CHECK_FALSE(compared(row)[0].prediction.expected_s);
    CHECK(compared(row)[0].not_expected == "tp2 is not the 1 chips of a worker");
    row.worker.tensor = 1;
    row.decode_workers = 0;
    CHECK(compared(row)[0].not_expected == "the row does not say how many workers there are");
}

// With N requests in flight, each of one output token, the first N wait for 1 to N prompts, and all others for N.
TEST_CASE("TTFT from a separate run includes the wait for the prompts before") {
    MeasuredServing row;
    row.model = "Qwen3-8B";
    row.system = "TPU-v6e";
    row.dtype = "bf16";
    row.software = "sglang-jax";
    row.chips = row.decode_chips = row.prefill_chips = row.worker.tensor = 4;
    row.prompt = row.stated_prompt = 2048;
    row.output = row.stated_output = 1024;
    row.ttft_s = 1;
    const auto first_token_s = [&](double in_flight, bool alone) {
        row.concurrency = in_flight;
        row.drive.lengths = RequestLengths{};
        row.drive.lengths->prompt.mean = row.prompt;
        row.drive.lengths->output.mean = row.output;
        row.drive.requests = static_cast<std::int64_t>(3 * in_flight);
        row.drive.chunk = 2048;
        row.drive.first_tokens_alone = alone;
        const auto all = compared(row);
        REQUIRE(all.size() == 1);
        REQUIRE(all[0].prediction.expected_s);
        return *all[0].prediction.expected_s;
    };
    const double one = first_token_s(1, true);
    CHECK(first_token_s(4, true) == approx((1 + 2 + 3 + 4 + 8 * 4) / 12.0 * one).epsilon(1e-3));
    CHECK(first_token_s(16, true) == approx((136 + 32 * 16) / 48.0 * one).epsilon(1e-3));
    // with outputs of 1024 tokens, a request that follows another one seldom waits for a prompt
    CHECK(first_token_s(16, false) < first_token_s(16, true));
}

TEST_CASE("prompts that no chip computes so fast came out of a cache, and say nothing of a server") {
    MeasuredServing row = vllm();
    row.output = 100;
    row.prompt = 8000;
    row.concurrency = 100;
    row.ttft_s = 1e-3;
    // 100 sequences need one prompt of 8000 tokens per hundred tokens: 8000 x 16 GFLOP per step, 0.13 s at 989 TFLOP/s
    row.tpot_s = 0.05;
    CHECK_FALSE(compared(row)[0].prediction.expected_s);
    CHECK(compared(row)[0].not_expected.starts_with("prompts came from a prefix cache"));
    row.tpot_s = 0.2;
    CHECK(compared(row)[0].prediction.expected_s);
}
