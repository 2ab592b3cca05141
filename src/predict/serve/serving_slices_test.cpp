#include "predict/serve/serving_slices.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "model/presets.hpp"

using namespace roofline::core;

namespace {

/// A decode step in which sequences generate their first token, on an H100 without calibration.
Prediction first_step(const char* model, std::int64_t batch, const char* chips = "1", const Plan& plan = {}) {
    auto machine = find_machine("h100-sxm5");
    REQUIRE(machine);
    const auto slice = make_slice(*machine, chips);
    REQUIRE(slice);
    const auto config = preset_config(model);
    REQUIRE(config);
    const auto served = served_model(*config, true, {}, {}, Dtype::bf16);
    REQUIRE(served);
    const auto none = std::make_shared<Calibrations>(std::vector<Calibration>{});
    const std::string software;
    auto pass =
        priced_pass({*served, *served, *slice, none, software, {}}, plan, CacheSplit::heads, decode_pass(batch, 1));
    REQUIRE_MESSAGE(pass, pass.error().message);
    return std::move(*pass);
}

constexpr double hbm_rate = 3.35e12;

double pass_lower(const Prediction& pass, double chips = 1) {
    const auto least = least_pass(pass, chips);
    REQUIRE(least);
    return least->lower_s;
}

}  // namespace

TEST_CASE("without experts a pass has the bound of its program") {
    const Prediction pass = first_step("llama-3.1-8b", 64);
    CHECK(pass_lower(pass) == pass.analysis.total.bounds.lower);
    // 8.03 G parameters without the embedding's 128256 x 4096, in bf16
    const double weights = (8030261248.0 - 128256.0 * 4096) * 2 / hbm_rate;
    CHECK(pass_lower(first_step("llama-3.1-8b", 1)) == approx(weights).epsilon(0.001));
    // activations between kernels: per token and layer fewer than 20 vectors of 4096 and 5 of 14336
    CHECK(pass_lower(pass) > weights);
    CHECK(pass_lower(pass) < weights + 64 * 32 * (20 * 4096 + 5 * 14336) * 2 / hbm_rate);
}

TEST_CASE("nothing is faster than tokens that all choose the same experts") {
    // Mixtral 8x7B: 46.70 G parameters, of which 12.88 G are active; the embedding's 32000 x 4096 are only looked up
    const double active = (12.88e9 - 32000.0 * 4096) * 2 / hbm_rate;
    const double all = (46.70e9 - 32000.0 * 4096) * 2 / hbm_rate;
    const Prediction one = first_step("mixtral-8x7b", 1);
    CHECK(pass_lower(one) == approx(active).epsilon(0.02));
    CHECK(one.analysis.total.bounds.lower == approx(active).epsilon(0.02));
    const Prediction many = first_step("mixtral-8x7b", 64);
    CHECK(pass_lower(many) == approx(active).epsilon(0.04));  // plus activations of 64 tokens, 3 %
    CHECK(many.analysis.total.bounds.lower == approx(all).epsilon(0.02));
}

TEST_CASE(
    "where computing decides, experts that share the routes evenly bound a pass as well as a few that have them all") {
    // 4096 tokens per step: 2 FLOPs per active parameter and token at 989.4 TFLOP/s
    const Prediction pass = first_step("mixtral-8x7b", 4096);
    CHECK(pass_lower(pass) <= pass.analysis.total.bounds.lower * (1 + 1e-12));
    CHECK(pass_lower(pass) == approx(2 * (12.88e9 - 32000.0 * 4096) * 4096 / 989.4e12).epsilon(0.02));
}

TEST_CASE("routing may be even among chips that hold different numbers of experts") {
    // 8 experts on 3 chips, of which two hold 3: with uniform routing these have 3/8 of the routes, not 1/3
    Plan plan;
    plan.expert = 3;
    constexpr double tokens = 3 * 8192;
    const Prediction pass = first_step("mixtral-8x7b", 3 * 8192, "3", plan);
    // 2 FLOPs per active parameter and token, of which 2 * 3 * 4096 * 14336 in each of 32 layers are of experts
    const double experts = 2 * 2 * 3 * 4096.0 * 14336 * 32 * tokens / 989.4e12;
    const double all = 2 * (12.88e9 - 32000.0 * 4096) * tokens / 989.4e12;
    CHECK(pass_lower(pass, 3) == approx(all / 3).epsilon(0.02));
    CHECK(pass.analysis.total.bounds.lower == approx(all / 3 + experts * (3.0 / 8 - 1.0 / 3)).epsilon(0.02));
}

TEST_CASE("routing may keep to experts on the token's own chip, and then nothing is sent") {
    Plan plan;
    plan.expert = 8;
    const Prediction pass = first_step("qwen3-30b-a3b", 8192, "8", plan);
    const auto least = least_pass(pass, 8);
    REQUIRE(least);
    const std::vector<Resource>& resources = pass.analysis.total.pricing.resources;
    double sent = 0;
    for (std::size_t i = 0; i < resources.size(); ++i) {
        if (resources[i].id != "nvlink") continue;
        // In each of 48 layers a chip sends 1024 tokens of 2048 numbers to 8 experts and receives them back. With
        // uniform routing each token goes once to each of 8 (1 - C(112, 8) / C(128, 8)) = 5.358 chips, of which 7/8 are
        // others, at 450 GB/s.
        double none = 1;
        for (int k = 0; k < 8; ++k) none *= (112.0 - k) / (128.0 - k);
        sent = pass.analysis.total.least_seconds[i];
        CHECK(sent == approx(48 * 2 * 1024.0 * 8 * (1 - none) * 2048 * 2 * 7 / 8 / 450e9).epsilon(0.01));
        CHECK(least->seconds[i] < 0.05 * sent);
    }
    CHECK(sent > 0);
    CHECK(least->lower_s <= pass.analysis.total.bounds.lower);
}

TEST_CASE("a model whose tokens are limited to some groups of experts sends them to fewer nodes") {
    Plan plan;
    plan.expert = 64;
    const Prediction pass = first_step("deepseek-v3", 2048, "8x8", plan);
    const std::vector<Resource>& resources = pass.analysis.total.pricing.resources;
    for (std::size_t i = 0; i < resources.size(); ++i) {
        if (resources[i].id != "ib") continue;
        // in each of 58 layers a chip sends 32 tokens to 8 experts in 4 of 8 groups; a group is a node, so a token goes
        // to 4 (1 - C(96, 8) / C(128, 8)) nodes
        double none = 1;
        for (int k = 0; k < 8; ++k) none *= (96.0 - k) / (128.0 - k);
        const double sent = 58 * 2 * 32.0 * 7168 * 2 * 4 * (1 - none) * 7 / 8 / 50e9;
        CHECK(pass.analysis.total.least_seconds[i] == approx(sent).epsilon(1e-3));
    }
    // the other times assume the same routing, so none is below this bound
    CHECK(pass.analysis.total.bounds.lower <= pass.analysis.total.sequential);
}
