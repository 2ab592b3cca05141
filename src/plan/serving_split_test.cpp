// How Llama 3.1 70B (K = 8, G = 8) lies on 16 chips.
#include "plan/serving_split.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "model/models_test.hpp"
#include "model/serving_program.hpp"
#include "plan/serving_memory.hpp"

using namespace roofline;

namespace {

std::string type_of(const Program& program, std::string_view name) {
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

TEST_CASE("beyond their heads caches lie by batch, by context, or whole on each") {
    const Model model = model_named("llama-3.1-70b", 1);
    Plan plan;
    plan.tensor = 16;
    const ServingSplit batch = split_of(model, plan, CacheSplit::batch);
    CHECK(batch.caches_differ);
    CHECK(batch.members == 2);
    CHECK(type_of(batch.program, "Kc") == "bf16[B_{queries}, S, K_{tensor}, H]");
    CHECK(type_of(split_of(model, plan, CacheSplit::context).program, "Kc") == "bf16[B, S_{queries}, K_{tensor}, H]");
    CHECK(type_of(split_of(model, plan, CacheSplit::heads).program, "Kc") == "bf16[B, S, K_{tensor}, H]");
    CHECK(type_of(batch.program, "Wq") == "bf16[D, K_{tensor}, G_{queries}, H]");
    CHECK(type_of(batch.program, "Wd") == "bf16[F_{tensor,queries}, D]");
    CHECK(type_of(batch.program, "Embed") == "bf16[V_{tensor,queries}, D]");
    CHECK(type_of(batch.program, "X") == "bf16[B, T, D]");
}

TEST_CASE("as many members as heads leave caches no choice") {
    const Model model = model_named("llama-3.1-70b", 1);
    Plan plan;
    plan.tensor = 8;
    plan.data = 2;
    const ServingSplit split = split_of(model, plan, CacheSplit::batch);
    CHECK_FALSE(split.caches_differ);
    CHECK(type_of(split.program, "Kc") == "bf16[B_{data}, S, K_{tensor}, H]");
}

TEST_CASE("a latent that serves all heads lies by batch") {
    const Model model = model_named("deepseek-v2-lite", 1);
    Plan plan;
    plan.tensor = 8;
    const ServingSplit split = split_of(model, plan, CacheSplit::batch);
    CHECK(split.members == 8);
    CHECK(type_of(split.program, "Cc") == "bf16[B_{tensor}, S, R]");
}

TEST_CASE("stages of a pipeline are refused") {
    const Model model = model_named("llama-3.1-70b", 1);
    Plan plan;
    plan.pipeline = 2;
    auto split = split_for_serving(model.program, model.roles, plan, CacheSplit::heads);
    REQUIRE_FALSE(split);
    CHECK(split.error().code == "unsupported");
}

TEST_CASE("memory is a share of each byte, padded where it does not divide") {
    const Model model = model_named("llama-3.1-70b", 1);
    auto weights = weight_bytes(model, Dtype::int8, std::nullopt);
    REQUIRE(weights);
    Plan plan;
    plan.tensor = 16;
    const ServingSplit split = split_of(model, plan, CacheSplit::batch);
    // 3 sequences of 1000 tokens: 2 * 80 layers * 8 heads * 128, a byte each
    auto pass = serving_program(split.program, model, {3, 1, 1000}, {weights->by_value, Dtype::int8});
    REQUIRE(pass);
    const ServingMemory all = kept_bytes(*pass, weights->by_value, false);
    const ServingMemory one = kept_bytes(*pass, weights->by_value, true);
    CHECK(all.kv == 3 * 1000 * 163840.0);
    CHECK(one.kv == 2 * 1000 * 163840.0 / 8);  // of 3 sequences over 2 members one holds 2
    CHECK(all.weights == 70553706496.0);
    // weights of keys and values lie over 8 members, norms (161 of 8192) are on each
    CHECK(one.weights == doctest::Approx((70553706496.0 + 80 * 2 * 8192 * 1024.0 + 15 * 161 * 8192.0) / 16));
}
