#include "calibrate/pass/pass_model.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "base/approx_test.hpp"
#include "calibrate/pass/fit_passes.hpp"
#include "machine/catalogue.hpp"

using namespace roofline::core;

namespace {

PassFamily apple() {
    PassFamily family;
    family.software = "llama.cpp";
    family.name = "Apple GPU";
    family.memory = 0.8;
    family.cache = 0.1;
    family.attention = 0.25;
    family.kernel_s = 10e-6;
    family.hop_s = 1e-3;
    family.products = {{{"f16"}, 0.7, 0}, {{}, 0.5, 0}};
    family.chips = {{"m3-max", 1, 1, 8}, {"m1-max", 1.1, 1.2, 8}};
    family.rows = 16;
    family.generation = {0.05, 0.06, 0.1, 0};
    family.prompts = {0.07, 0.08, 0.2, 0};
    return family;
}

}  // namespace

TEST_CASE("a token: weights at a part of the memory's rate, keys and values, a time per kernel") {
    PassParts parts;
    parts.generates = true;
    parts.weights_s = 4.58e9 / 400e9;  // 11.45 ms
    parts.cache_s = 1e-4;
    parts.kernels = 300;
    // 11.45 ms / 0.8 + 0.1 ms / 0.1 + 3 ms
    CHECK(pass_seconds(apple(), parts) == approx(0.0143125 + 0.001 + 0.003));
    parts.chips = 3;  // one after another: two hops
    CHECK(pass_seconds(apple(), parts) == approx(0.0143125 + 0.001 + 0.003 + 0.002));
}

TEST_CASE("a token whose weights take as long to unpack as to read") {
    PassFamily family = apple();
    family.memory = 1;
    family.kernel_s = 0;
    family.products = {{{}, 1, 0.5}};
    PassParts parts;
    parts.generates = true;
    parts.weights_s = 1;
    parts.products_s[Dtype::int8] = 0.25;
    parts.cores = 0.5;  // 0.25 / (0.5 * 0.5) = 1
    CHECK(pass_seconds(family, parts) == approx(std::pow(2, 0.25)));
}

TEST_CASE("a prompt: products by the type of their weights, and chunks over chips like a pipeline") {
    PassParts parts;
    parts.tokens = 1024;
    parts.weights_s = 0.001;
    parts.products_s[Dtype::f16] = 0.07;
    parts.products_s[Dtype::int8] = 0.05;
    parts.attention_s = 0.01;
    parts.kernels = 100;
    // 0.07 / 0.7 + 0.05 / 0.5 + 0.01 / 0.25 + two chunks of 100 kernels
    const double one = 0.1 + 0.1 + 0.04 + 0.002;
    CHECK(pass_seconds(apple(), parts) == approx(one));
    parts.chips = 2;  // three slots of a quarter each
    CHECK(pass_seconds(apple(), parts) == approx(3 * (one / 4 + 0.001)));
}

TEST_CASE("the chip's own factor, and the nearest relative without it") {
    PassModels models;
    models.families = {apple()};
    PassParts parts;
    parts.generates = true;
    parts.weights_s = 0.8;
    const auto own = models.expected(*find_machine("m1-max"), "llama.cpp", parts);
    REQUIRE(own);
    CHECK(own->seconds == approx(1.1));
    CHECK(own->error == 0.06);
    CHECK_FALSE(own->transferred);
    const auto near = models.expected(*find_machine("m4-max"), "llama.cpp", parts);
    REQUIRE(near);
    CHECK(near->seconds == approx(std::sqrt(1.1)));  // the mean of 1 and 1.1
    CHECK(near->transferred);
    CHECK(near->chip->machine == "m3-max");
    CHECK(near->error == 0.1);
    CHECK_FALSE(models.expected(*find_machine("mi300x"), "llama.cpp", parts));
    CHECK_FALSE(models.expected(*find_machine("m1-max"), "vllm", parts));
}

TEST_CASE("f16 sums: twice as fast on GeForce cards") {
    CHECK(gain_of_f16_sums(*find_machine("rtx-4090")) == approx(2).epsilon(0.01));
    CHECK(gain_of_f16_sums(*find_machine("l40s")) == 1);
    CHECK(gain_of_f16_sums(*find_machine("m3-max")) == 1);
}

TEST_CASE("a file of whole passes is read as it was written") {
    PassModels models;
    models.fitted = "2026-11-28";
    models.families = {apple()};
    models.families.front().models = {"llama-3.1-8b"};
    models.families.front().longest = 8192;
    const auto read = parse_pass_models(pass_models_text(models), "passes.toml");
    REQUIRE_MESSAGE(read, (read ? "" : read.error().message));
    CHECK(*read == models);
    CHECK(holds_pass_models(pass_models_text(models)));
    CHECK_FALSE(parse_pass_models("[[pass]]\nsoftware = \"a\"\nname = \"b\"\nwrong = 1\n", "x"));
    CHECK_FALSE(built_in_passes().families.empty());
}

TEST_CASE("the fit finds the constants of rows that follow the model") {
    PassModels known;
    known.families = {apple()};
    std::vector<PassSample> samples;
    for (const char* const machine : {"m3-max", "m1-max"}) {
        for (int i = 0; i < 12; ++i) {
            PassSample sample{"llama.cpp", machine, i % 2 == 0 ? "small" : "large", "Q4_K_M", "us", {}, 0};
            const double size = i % 2 == 0 ? 1 : 9;
            sample.parts.generates = i < 6;
            sample.parts.tokens = 128 << (i % 3);
            sample.parts.weights_s = 0.01 * size;
            sample.parts.cache_s = 1e-7 * size * sample.parts.tokens;
            sample.parts.kernels = i % 2 == 0 ? 300 : 800;
            sample.parts.products_s[Dtype::int8] = 0.0005 * size * sample.parts.tokens;
            if (!sample.parts.generates)
                sample.parts.attention_s = 1e-8 * size * sample.parts.tokens * sample.parts.tokens;
            sample.measured_s = pass_seconds(apple(), sample.parts);
            samples.push_back(sample);
        }
    }
    const PassModels fitted = fit_passes(samples, known);
    REQUIRE(fitted.families.size() == 1);
    const PassFamily& family = fitted.families.front();
    CHECK(family.name == "Apple GPU");
    CHECK(family.rows == 24);
    CHECK(family.generation.fitted < 0.03);
    CHECK(family.prompts.fitted < 0.03);
    CHECK(family.memory == approx(0.8).epsilon(0.1));
    CHECK(family.generation.chips < 0.05);
}
