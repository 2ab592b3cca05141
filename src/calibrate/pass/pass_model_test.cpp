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

TEST_CASE("the last chunk of a prompt reads the weights that its tokens need") {
    PassFamily family = apple();
    family.products = {{{}, 1, 0}};
    family.kernel_s = 0;
    PassParts parts;
    parts.tokens = 1025;
    parts.products_s[Dtype::f16] = 0.001 * parts.tokens;
    parts.weights_s = 0.8;         // 1 s of each of two full chunks, which are multiplied in 0.512 s
    parts.last_weights_s = 0.008;  // 10 ms for one token, multiplied in 1 ms
    CHECK(pass_seconds(family, parts) == approx(2 + 0.01));
    parts.last_weights_s.reset();  // all weights, if nothing else is known
    CHECK(pass_seconds(family, parts) == approx(3));
    // a second chip has half of the layers: its half of the longest chunk comes after the others
    parts.last_weights_s = 0.008;
    parts.chips = 2;
    family.hop_s = 0;
    CHECK(pass_seconds(family, parts) == approx((2 + 0.01 + 1) / 2));
}

TEST_CASE("a prompt on several chips whose last chunk is shorter") {
    PassFamily family = apple();
    family.products = {{{}, 1, 0}};
    family.kernel_s = 0;
    family.hop_s = 0.01;
    family.memory = 1;
    const auto seconds = [&](double tokens, std::int64_t chips) {
        PassParts parts;
        parts.tokens = tokens;
        parts.chips = chips;
        parts.weights_s = 0.1;
        parts.products_s[Dtype::f16] = 0.001 * tokens;
        return pass_seconds(family, parts);
    };
    // chunks of 0.512 s and of 0.1 s, in which weights are read for one token
    CHECK(seconds(513, 1) == doctest::Approx(0.612));
    // the second chip begins when the first has had its half of the first chunk, and has a half of each then
    CHECK(seconds(512, 2) == doctest::Approx(0.256 + 0.01 + 0.256 + 0.01));
    CHECK(seconds(513, 2) == doctest::Approx(0.256 + 0.01 + 0.256 + 0.01 + 0.05 + 0.01));
    for (const std::int64_t chips : {1, 2, 4, 8}) {
        for (double tokens = 1; tokens < 2100; ++tokens) {
            CAPTURE(chips);
            CAPTURE(tokens);
            CHECK(seconds(tokens + 1, chips) >= seconds(tokens, chips) * (1 - 1e-12));
        }
    }
}

TEST_CASE("a higher bandwidth never makes a machine slower, and does not change which machine is the nearest") {
    const PassModels& models = built_in_passes();
    for (const char* const name : {"rtx-5090", "m4-max", "h200-sxm", "epyc-9654", "l4", "m1-ultra"}) {
        CAPTURE(name);
        const auto base = models.expected(*find_machine(name), "llama.cpp", PassParts{});
        REQUIRE(base);
        CHECK(base->transferred);
        for (const char* const change :
             {"hbm.bandwidth=*0.1", "hbm.bandwidth=*0.5", "hbm.bandwidth=*1.5", "hbm.bandwidth=*10", "clock=*3"}) {
            const auto changed = find_machine(name, {change, "hbm.bandwidth=*1.1"});
            if (!changed) continue;  // a clock that is unknown
            const auto other = models.expected(*changed, "llama.cpp", PassParts{});
            REQUIRE(other);
            CHECK(other->chip == base->chip);
            CHECK(other->error == base->error);
        }
    }
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
    // AMX has 262.144 TFLOP/s in bf16; the vector units have 16.384 TFLOP/s in f32
    CHECK(gain_of_matrix_extension(*find_machine("xeon-6980p")) == approx(262.144 / (2 * 16.384)));
    CHECK(gain_of_matrix_extension(*find_machine("ryzen-7950x")) == 1);
    CHECK(gain_of_matrix_extension(*find_machine("rtx-4090")) == 1);
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

TEST_CASE("a type that is a small part of every file has the mean of types that are unpacked alike") {
    PassFamily processor;
    processor.software = "llama.cpp";
    processor.name = "processor";
    processor.products = {{{"f16"}, 1, 0.1},  {{"q4_0"}, 1, 0.3},   {{"q4_1"}, 1, 0.3},
                          {{"q8_0"}, 1, 0.3}, {{"iq3_s"}, 1, 0.05}, {{}, 1, 0.1}};
    processor.chips = {{"ryzen-7950x", 1, 1, 8}};
    PassModels known;
    known.families = {processor};
    // prompts at a part of 0.4 of the math rate in q4_0, with some q4_1, 0.1 in q8_0, and 0.02 in a codebook
    const auto row = [](const char* type, double rate, double others) {
        PassSample sample{"llama.cpp", "ryzen-7950x", "llama", type, "us", {}, 0};
        sample.parts.tokens = 512;
        sample.parts.weights_s = 0.01;
        sample.parts.products_s[*find_dtype(type)] = 1 - others;
        if (others > 0) sample.parts.products_s[*find_dtype("q4_1")] = others;
        sample.measured_s = 1 / rate;
        return sample;
    };
    std::vector<PassSample> samples{row("f16", 0.5, 0), row("q8_0", 0.1, 0), row("q4_0", 0.4, 0.03),
                                    row("q4_0", 0.3, 0.1), row("iq3_s", 0.02, 0)};
    const PassModels fitted = fit_passes(samples, known);
    REQUIRE(fitted.families.size() == 1);
    const PassFamily& family = fitted.families.front();
    const auto rate = [&](const char* type) { return family.of(*find_dtype(type)).rate; };
    CHECK(rate("q4_1") == doctest::Approx(std::sqrt(rate("q4_0") * rate("q8_0"))).epsilon(1e-3));
    // without types that are unpacked alike: of all blocks
    CHECK(rate("q6_k") == doctest::Approx(std::cbrt(rate("q4_0") * rate("q8_0") * rate("iq3_s"))).epsilon(1e-3));
    CHECK(rate("q8_0") == doctest::Approx(0.1).epsilon(0.1));
}
