// Parts of the forward-pass model: which weights the chunks of a prompt read.
#include "predict/serve/whole_pass.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "model/file_types.hpp"
#include "model/presets.hpp"
#include "predict/serve/serving_slices.hpp"

using namespace roofline::core;

namespace {

// Qwen3 30B-A3B in Q4_0 on an RTX 4090 of 1,008 GB/s, by sizes of its parameters.
PassParts parts_of_prompt(std::int64_t tokens) {
    auto config = preset_config("qwen3-30b-a3b");
    REQUIRE(config);
    auto typed = with_file_type(std::move(*config), "Q4_0");
    REQUIRE(typed);
    const auto quantisation = quantisation_of(*typed, nullptr);
    REQUIRE(quantisation);
    const auto model = served_model(*typed, false, std::nullopt, *quantisation, Dtype::bf16);
    REQUIRE(model);
    auto machine = find_machine("rtx-4090");
    REQUIRE(machine);
    const auto slice = make_slice(std::move(*machine), "1");
    REQUIRE(slice);
    const auto none = std::make_shared<Calibrations>(std::vector<Calibration>{});
    const ServingSetup setup{*model, *model, *slice, none, ""};
    const auto price = [&](const ServingPass& pass) { return priced_pass(setup, Plan{}, CacheSplit::heads, pass); };
    const ServingPass prompt{1, tokens, tokens};
    const auto priced = price(prompt);
    REQUIRE_MESSAGE(priced, (priced ? "" : priced.error().message));
    const auto parts = pass_parts(*priced, prompt, Plan{}, PassFamily{}, price);
    REQUIRE(parts);
    return *parts;
}

// Weights that so many experts of each layer need, in seconds. Of each of 48 layers: queries and the output 2048 x
// 4096, keys and values 2048 x 512, and three matrices of 2048 x 768 per expert at 4.5 bits, the router 2048 x 128 in
// f32; of the first six the down projection at 5 bits; the LM head 151,936 x 2048 at 6.5625.
double seconds_of_weights(double experts) {
    const double attention = 2048.0 * (2 * 4096 + 2 * 512) * 4.5;
    const double expert = 2048.0 * 768;
    const double layer = attention + 3 * expert * 4.5 * experts + 2048.0 * 128 * 32;
    const double bits = 48 * layer + 6 * expert * 0.5 * experts + 151936.0 * 2048 * 6.5625;
    return bits / 8 / 1008e9;
}

}  // namespace

TEST_CASE("the last chunk of a prompt reads the experts that its tokens choose") {
    // of 512 tokens that choose 8 of 128 experts none leaves an expert out: 128 (1 - (1 - 1/16)^512) = 128
    const PassParts one = parts_of_prompt(513);
    CHECK(one.weights_s > seconds_of_weights(128));
    REQUIRE(one.last_weights_s.has_value());
    CHECK(*one.last_weights_s == approx(seconds_of_weights(8)).epsilon(0.01));
    // 10 tokens choose 128 (1 - (15/16)^10) = 60.9 experts
    const PassParts ten = parts_of_prompt(522);
    REQUIRE(ten.last_weights_s.has_value());
    CHECK(*ten.last_weights_s == approx(seconds_of_weights(61)).epsilon(0.01));
    // full chunks are alike, however many there are
    const PassParts chunk = parts_of_prompt(512);
    const PassParts chunks = parts_of_prompt(4096);
    CHECK_FALSE(chunk.last_weights_s.has_value());
    CHECK_FALSE(chunks.last_weights_s.has_value());
    CHECK(chunks.weights_s == approx(chunk.weights_s));
    CHECK(one.weights_s == approx(chunk.weights_s));
}
