#include <doctest/doctest.h>

#include "model/module_pattern.hpp"

using namespace roofline::core;

namespace {

std::string means(std::string_view pattern, std::string_view name) {
    const auto result = means_module(pattern, name);
    return !result ? result.error().code : *result ? "yes" : "no";
}

}  // namespace

TEST_CASE("names match whole parts of a module's name") {
    CHECK(means("lm_head", "lm_head") == "yes");
    CHECK(means("gate", "model.layers.0.mlp.gate") == "yes");
    CHECK(means("gate", "model.layers.0.mlp.gate_proj") == "no");
    CHECK(means("model.layers.1.mlp", "model.layers.1.mlp.up_proj") == "yes");
    CHECK(means("model.layers.1", "model.layers.10.mlp.up_proj") == "no");
}

TEST_CASE("stars match anything, including the modules inside a module") {
    CHECK(means("model.layers.*.self_attn", "model.layers.7.self_attn.q_proj") == "yes");
    CHECK(means("model.layers.1.*", "model.layers.10.mlp.up_proj") == "no");
    CHECK(means("model.layers.0*", "model.layers.0.mlp.up_proj") == "yes");
    CHECK(means("*.attn.*", "model.layers.0.self_attn.q_proj") == "no");
    CHECK(means("language_model.model.layers.0*", "model.layers.0.mlp.up_proj") == "yes");
    CHECK(means(std::string(2000, '*') + "x", std::string(2000, 'y')) == "no");
}

TEST_CASE("regular expressions match from the beginning of the name, and nested ones take no longer") {
    CHECK(means("re:.*self_attn.*", "model.layers.7.self_attn.q_proj") == "yes");
    CHECK(means(R"(re:.*mlp\.(gate|up|gate_up|down)_proj.*)", "model.layers.0.mlp.up_proj") == "yes");
    CHECK(means(R"(re:.*mlp\.(gate|up|gate_up|down)_proj.*)", "model.layers.1.mlp.experts.0.up_proj") == "no");
    CHECK(means("re:self_attn", "model.self_attn") == "no");
    CHECK(means("re:.*head$", "lm_head.x") == "no");
    CHECK(means(R"(re:model\.layers\.\d+\.mlp)", "model.layers.12.mlp") == "yes");
    CHECK(means("re:" + std::string(200, '.') + "*x", std::string(100, 'a')) == "no");
    CHECK(means("re:[ab]", "a") == "unsupported");
    CHECK(means("re:(a|(b))", "a") == "unsupported");
    CHECK(means("re:a\\", "a") == "unsupported");
    CHECK(means("re:*", "a") == "unsupported");
}
