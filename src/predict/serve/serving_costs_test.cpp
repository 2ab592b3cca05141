#include "predict/serve/serving_costs.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "model/presets.hpp"
#include "network/slice.hpp"

using namespace roofline::core;

namespace {

struct ServedLlama {
    ServedLlama() {
        auto machine = find_machine("h100-sxm5");
        REQUIRE(machine);
        auto made = make_slice(*machine, "1");
        REQUIRE(made);
        slice = *made;
        auto config = preset_config("llama-3.1-8b");
        REQUIRE(config);
        for (const bool decoding : {false, true}) {
            auto served = served_model(*config, decoding, {}, {}, Dtype::bf16);
            REQUIRE(served);
            (decoding ? decode : prefill) = *served;
        }
    }
    [[nodiscard]] ServingSetup setup() const { return {prefill, decode, slice, calibrations, {}, {}}; }

    ServedModel prefill;
    ServedModel decode;
    Slice slice;
    std::shared_ptr<Calibrations> calibrations = std::make_shared<Calibrations>(Calibrations::built_in());
};

Result<ExpectedServing> passes_of(const ServedLlama& on, const Plan& plan, const ServingPass& typical) {
    const ServingSetup setup = on.setup();
    return ExpectedServing::make({setup, plan}, {setup, plan}, typical);
}

}  // namespace

TEST_CASE("costs of steps are the server's, interpolated between powers of two and linear in the context") {
    const ServedLlama one;
    const auto passes = passes_of(one, {}, {32, 1, 1024});
    REQUIRE(passes);
    const ServerModel server{1.5, 1e-3, 10e-6, 1};
    const ServingCosts costs = serving_costs(*passes, server, {1000, 48});
    for (const double context : {1001.0, 1048.0}) {
        CHECK(costs.decode(8).seconds(8 * context) == approx(1.5 * passes->decode(8, context).seconds + 1e-3 + 80e-6));
    }
    const double beyond_s = 1.5 * passes->decode(8, 2000).seconds + 1e-3 + 80e-6;
    CHECK(costs.decode(8).seconds(8 * 2000) == approx(beyond_s).epsilon(0.05));
    CHECK(costs.decode(12).seconds(12 * 1024) ==
          approx((costs.decode(8).seconds(8 * 1024) + costs.decode(16).seconds(16 * 1024)) / 2));
    CHECK(costs.decode(33).seconds(33 * 1024) > costs.decode(32).seconds(32 * 1024));
    CHECK(costs.least_prompts_s == approx(passes->launches()));  // one second each
}

TEST_CASE("no server decodes faster than memory, however little its kernels take beside separate ones") {
    const ServedLlama one;
    const auto passes = passes_of(one, {}, {32, 1, 1024});
    REQUIRE(passes);
    const ServingCosts costs = serving_costs(*passes, {0.01, 0, 0, 0}, {1000, 48});
    // all weights but the embedding, and 32 layers of 8 heads with keys and values of 128 for each token
    const double weights = 2 * (8'030'261'248.0 - 128'256 * 4096);
    const double caches = 8 * 1024 * 32 * 2 * 8 * 128 * 2.0;
    const double bandwidth = 3.35e12;  // NVIDIA's datasheet
    CHECK(costs.decode(8).seconds(8 * 1024) == approx((weights + caches) / bandwidth).epsilon(0.01));
}

TEST_CASE("a prompt of the typical size takes its own time, others are interpolated") {
    const ServedLlama one;
    const auto passes = passes_of(one, {}, {32, 1, 1024});
    REQUIRE(passes);
    const ServingCosts costs = serving_costs(*passes, {}, {1000, 48});
    CHECK(costs.prompt_s(0) == 0);
    CHECK(costs.prompt_s(1000) == approx(passes->prompts_s(1, 1000)));
    CHECK(costs.prompt_s(1024) == approx(passes->prompts_s(1, 1024)));
    CHECK(costs.prompt_s(1012) == approx((costs.prompt_s(1000) + costs.prompt_s(1024)) / 2));
    for (const double tokens : {1.0, 333.0, 5000.0, 100'000.0}) {
        CHECK(costs.prompt_s(tokens) == approx(passes->prompts_s(1, tokens)).epsilon(0.05));
    }
}

TEST_CASE("typical outputs vary by a tenth, and a room is one of tokens") {
    const auto requests = draw_requests(typical_lengths({1000, 100}), 640);
    const auto [least, most] =
        std::minmax_element(requests.begin(), requests.end(),
                            [](const RequestTokens& a, const RequestTokens& b) { return a.output < b.output; });
    CHECK(least->output == 90);
    CHECK(most->output == 110);
    CHECK(requests.back().prompt == 1000);
    CHECK(serving_limits(22'000.7, 16).cache_tokens == 22'000);
    CHECK(serving_limits(22'000.7, 16).block_tokens == 16);
    CHECK(serving_limits(0.5, 1).cache_tokens == 1);
}
