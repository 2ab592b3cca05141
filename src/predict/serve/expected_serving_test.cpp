#include "predict/serve/expected_serving.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "machine/catalogue.hpp"
#include "model/presets.hpp"
#include "network/slice.hpp"
#include "plan/pipeline_stage.hpp"

using namespace roofline::core;

namespace {

struct Setup {
    explicit Setup(const char* shape, const char* model = "llama-3.1-8b") {
        auto machine = find_machine("h100-sxm5");
        REQUIRE(machine);
        auto made = make_slice(*machine, shape);
        REQUIRE(made);
        slice = *made;
        auto config = preset_config(model);
        REQUIRE(config);
        for (const bool decoding : {false, true}) {
            auto served = served_model(*config, decoding, {}, {}, Dtype::bf16);
            REQUIRE(served);
            (decoding ? decode : prefill) = *served;
        }
    }
    [[nodiscard]] ServingSetup setup() const { return {prefill, decode, slice, calibrations, software, {}}; }

    ServedModel prefill;
    ServedModel decode;
    Slice slice;
    std::shared_ptr<Calibrations> calibrations = std::make_shared<Calibrations>(Calibrations::built_in());
    std::string software;
};

Result<ExpectedServing> passes_of(const Setup& on, const Plan& plan, const ServingPass& typical) {
    const ServingSetup setup = on.setup();
    return ExpectedServing::make({setup, plan}, {setup, plan}, typical);
}

}  // namespace

TEST_CASE("compiled passes take what each pass takes that is priced alone") {
    const Setup two("2");
    Plan plan;
    plan.tensor = 2;
    const auto compiled = passes_of(two, plan, decode_pass(32, 2048));
    REQUIRE_MESSAGE(compiled, compiled.error().message);
    for (const auto& [batch, context] : {std::pair{1, 512}, std::pair{32, 2048}, std::pair{100, 700}}) {
        const auto alone = priced_pass(two.setup(), plan, CacheSplit::heads, decode_pass(batch, context));
        REQUIRE(alone);
        REQUIRE(alone->expected_s);
        CHECK(compiled->decode(batch, context).seconds == approx(*alone->expected_s).epsilon(0.001));
    }
    const auto prompts = priced_pass(two.setup(), plan, CacheSplit::heads, {3, 1000, 1000});
    REQUIRE(prompts);
    CHECK(compiled->prompts_s(3, 1000) == approx(*prompts->expected_s).epsilon(0.001));
    // per layer two norms, projections, two rotations, attention, output, two sums and the MLP's two matmuls; and two
    // all-reduces
    CHECK(compiled->launches() > 32 * 12);
    CHECK(compiled->launches() < 32 * 16);
}

TEST_CASE("what has no expected time under load says why") {
    const Setup one("1");
    Setup none("1");
    none.calibrations = std::make_shared<Calibrations>(std::vector<Calibration>{});
    const auto uncalibrated = passes_of(none, {}, decode_pass(1, 100));
    REQUIRE_FALSE(uncalibrated);
    CHECK(uncalibrated.error().code == "not_calibrated");
}

TEST_CASE("the experts that a compiled pass reads follow from its tokens") {
    const Setup eight("8", "mixtral-8x7b");
    for (const bool over_tensor : {false, true}) {
        Plan plan;
        plan.tensor = 8;
        plan.experts_over_tensor = over_tensor;
        const auto compiled = passes_of(eight, plan, decode_pass(32, 2048));
        REQUIRE_MESSAGE(compiled, compiled.error().message);
        // 2 of 8 experts per token: the number that is read grows up to about a dozen tokens, then only their rows do
        for (const auto& [batch, context] : {std::pair{1, 2048}, std::pair{4, 512}, std::pair{256, 2048}}) {
            const auto alone = priced_pass(eight.setup(), plan, CacheSplit::heads, decode_pass(batch, context));
            REQUIRE(alone);
            // a pass that is priced alone reads a whole number of experts, with a whole number of rows each
            if (!over_tensor)
                CHECK(compiled->decode(batch, context).seconds == approx(pass_seconds(*alone)).epsilon(0.05));
            // the busiest chip has more than the others
            CHECK(compiled->decode(batch, context).seconds >= 0.95 * pass_seconds(*alone));
        }
        if (!over_tensor) continue;
        ServingSetup setup = eight.setup();
        double before = compiled->decode(256, 2048).seconds;
        for (const double balancedness : {0.5, 0.1}) {
            setup.balancedness = balancedness;
            const auto uneven = ExpectedServing::make({setup, plan}, {setup, plan}, {32, 1, 2048});
            REQUIRE(uneven);
            CHECK(uneven->decode(256, 2048).seconds > before);
            before = uneven->decode(256, 2048).seconds;
        }
    }
}

TEST_CASE("every stage of a pipeline decodes other sequences, and the transfers between stages are added") {
    const Setup two("2");
    Plan plan;
    plan.pipeline = 2;
    const auto compiled = passes_of(two, plan, decode_pass(16, 1024));
    REQUIRE_MESSAGE(compiled, compiled.error().message);
    const auto half = priced_pass(two.setup(), plan, CacheSplit::heads, decode_pass(32, 1024));
    REQUIRE(half);
    CHECK(compiled->decode(64, 1024).seconds == approx(pass_seconds(*half)).epsilon(0.001));
    // Llama 3.1 8B has 4096 values of two bytes per token between its layers
    const auto sends = sends_of(*half, 2);
    REQUIRE(sends);
    const auto twice = stage_transfer_s(half->system, 64 * 4096 * 2);
    REQUIRE(twice);
    CHECK(sends->seconds(64) == approx(*twice));
}

TEST_CASE("two halves of a batch take turns: the longer of kernels and collectives, and a layer of the other") {
    CHECK(two_batch_seconds({3, 2}, 10) == approx(6.2));
    CHECK(two_batch_seconds({2, 3}, 10) == approx(6.2));
    CHECK(two_batch_seconds({3, 0}, 10) == approx(6));
    const Setup eight("8");
    Plan plan;
    plan.tensor = 8;
    ServingSetup setup = eight.setup();
    const auto apart = ExpectedServing::make({setup, plan}, {setup, plan}, {32, 1, 2048});
    setup.two_batches = true;
    const auto together = ExpectedServing::make({setup, plan}, {setup, plan}, {32, 1, 2048});
    REQUIRE(apart);
    REQUIRE(together);
    // a small step reads its weights twice, which costs more than its collectives
    CHECK(together->decode(2, 512).seconds == apart->decode(2, 512).seconds);
    CHECK(together->prompts_s(1, 8192) < apart->prompts_s(1, 8192));
    CHECK(together->prompts_s(1, 8192) > apart->prompts_s(1, 8192) / 2);
}
