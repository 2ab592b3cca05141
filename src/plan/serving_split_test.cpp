// Tests of the shardings of Llama 3.1 70B (K = 8, G = 8) on 16 chips.
#include "plan/serving_split.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/approx_test.hpp"
#include "model/models_test.hpp"
#include "model/serving_program.hpp"
#include "plan/pipeline_stage.hpp"
#include "plan/serving_memory.hpp"

using namespace roofline::core;

namespace {

std::string served_type(const Program& program, std::string_view name) {
    const auto found = std::find_if(program.values.begin(), program.values.end(),
                                    [&](const Value& value) { return value.name == name; });
    REQUIRE(found != program.values.end());
    return type_text(program, found->type);
}

ServingSplit split_of(const Model& model, const Plan& plan, CacheSplit caches) {
    auto split = split_for_serving(model.program, model.roles, plan, caches);
    REQUIRE(split);
    return std::move(*split);
}

}  // namespace

TEST_CASE("beyond their heads, caches are split by batch, by context, or replicated") {
    const Model model = model_named("llama-3.1-70b", 1);
    Plan plan;
    plan.tensor = 16;
    const ServingSplit batch = split_of(model, plan, CacheSplit::batch);
    CHECK(batch.caches_differ);
    CHECK(batch.members == 2);
    CHECK(served_type(batch.program, "Kc") == "bf16[B_{queries}, S, K_{tensor}, H]");
    CHECK(served_type(split_of(model, plan, CacheSplit::context).program, "Kc") ==
          "bf16[B, S_{queries}, K_{tensor}, H]");
    CHECK(served_type(split_of(model, plan, CacheSplit::heads).program, "Kc") == "bf16[B, S, K_{tensor}, H]");
    CHECK(served_type(batch.program, "Wq") == "bf16[D, K_{tensor}, G_{queries}, H]");
    CHECK(served_type(batch.program, "Wd") == "bf16[F_{tensor,queries}, D]");
    CHECK(served_type(batch.program, "Embed") == "bf16[V_{tensor,queries}, D]");
    CHECK(served_type(batch.program, "X") == "bf16[B, T, D]");
}

TEST_CASE("with as many members as heads caches have no choice") {
    const Model model = model_named("llama-3.1-70b", 1);
    Plan plan;
    plan.tensor = 8;
    plan.data = 2;
    const ServingSplit split = split_of(model, plan, CacheSplit::batch);
    CHECK_FALSE(split.caches_differ);
    CHECK(served_type(split.program, "Kc") == "bf16[B_{data}, S, K_{tensor}, H]");
}

TEST_CASE("a latent that serves all heads is split by batch") {
    const Model model = model_named("deepseek-v2-lite", 1);
    Plan plan;
    plan.tensor = 8;
    const ServingSplit split = split_of(model, plan, CacheSplit::batch);
    CHECK(split.members == 8);
    CHECK(served_type(split.program, "Cc") == "bf16[B_{tensor}, S, R]");
}

TEST_CASE("stages of a pipeline split no tensor, and hold their layers with the embedding or the head") {
    const Model model = model_named("llama-3.1-70b", 1);
    auto weights = weight_bytes(model, Dtype::int8, std::nullopt);
    REQUIRE(weights);
    Plan plan;
    plan.pipeline = 2;
    const ServingSplit split = split_of(model, plan, CacheSplit::heads);
    CHECK(served_type(split.program, "Kc") == "bf16[B, S, K, H]");
    auto pass = serving_program(split.program, model, {3, 1, 1000}, {weights->by_value, Dtype::int8});
    REQUIRE(pass);
    auto stages = pipeline_stages(*pass, 2);
    REQUIRE(stages);
    REQUIRE(stages->size() == 2);
    // 40 of 80 layers each; embedding and head are 128256 x 8192, the norm after the layers 8192.
    constexpr double table = 128256.0 * 8192;
    constexpr double layers = (70553706496.0 - 2 * table - 8192) / 2;
    const double held[] = {layers + table, layers + table + 8192};
    for (std::size_t i = 0; i < 2; ++i) {
        auto shares = stage_shares(*pass, 2, (*stages)[i]);
        REQUIRE(shares);
        const ServingMemory memory = kept_bytes(*pass, pass->sizes, weights->by_value, true, *shares);
        CHECK(memory.weights == approx(held[i]).epsilon(1e-12));
        CHECK(memory.kv == 3 * 1000 * 163840.0 / 2);
    }
    CHECK_FALSE(pipeline_stages(*pass, 81));
}

TEST_CASE("a head that is tied to the embedding is on both stages") {
    const Model model = model_named("llama-3.2-1b", 1);
    auto weights = weight_bytes(model, Dtype::int8, std::nullopt);
    REQUIRE(weights);
    auto pass = serving_program(model.program, model, {1, 1, 10}, {weights->by_value, Dtype::int8});
    REQUIRE(pass);
    auto stages = pipeline_stages(*pass, 2);
    REQUIRE(stages);
    double sum = 0;
    for (const PipelineStage& stage : *stages) {
        auto shares = stage_shares(*pass, 2, stage);
        REQUIRE(shares);
        sum += kept_bytes(*pass, pass->sizes, weights->by_value, true, *shares).weights;
    }
    CHECK(sum == weights->total.to_double() + 128256.0 * 2048);
}

TEST_CASE("memory is a share of each byte, padded if it does not divide evenly") {
    const Model model = model_named("llama-3.1-70b", 1);
    auto weights = weight_bytes(model, Dtype::int8, std::nullopt);
    REQUIRE(weights);
    Plan plan;
    plan.tensor = 16;
    const ServingSplit split = split_of(model, plan, CacheSplit::batch);
    // 3 sequences of 1000 tokens: 2 * 80 layers * 8 heads * 128, one byte each.
    auto pass = serving_program(split.program, model, {3, 1, 1000}, {weights->by_value, Dtype::int8});
    REQUIRE(pass);
    const ServingMemory all = kept_bytes(*pass, pass->sizes, weights->by_value, false);
    const ServingMemory one = kept_bytes(*pass, pass->sizes, weights->by_value, true);
    CHECK(all.kv == 3 * 1000 * 163840.0);
    CHECK(one.kv == 2 * 1000 * 163840.0 / 8);  // of 3 sequences over 2 members, one member holds 2
    CHECK(all.weights == 70553706496.0);
    // Weights of keys and values are split over 8 members; norms (161 of 8192) are on each.
    CHECK(one.weights == approx((70553706496.0 + 80 * 2 * 8192 * 1024.0 + 15 * 161 * 8192.0) / 16));
}
