#include "import/trained_models.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "model/account.hpp"
#include "model/model.hpp"

using namespace roofline::core;

namespace {

TrainedModels built_in() {
    auto models = TrainedModels::built_in();
    REQUIRE(models);
    return std::move(*models);
}

double params(const Config& config, std::int64_t sequence) {
    const auto model = build_model(config, sequence);
    REQUIRE(model);
    const auto counts = count_model(*model);
    REQUIRE(counts);
    return counts->total.params.to_double();
}

}  // namespace

TEST_CASE("a row's own sizes replace those of the configuration that its model's name means") {
    MeasuredTraining row;
    row.model = "Llama3-70B-L12";
    row.layers = 12;
    row.sequence = 4096;
    const auto config = built_in().config(row);
    REQUIRE(config);
    // a layer of Llama 3 70B has 855,654,400 parameters, embedding and head 2 x 128256 x 8192, the last norm 8192
    CHECK(params(*config, 4096) == approx(12 * 855654400.0 + 2 * 128256.0 * 8192 + 8192).epsilon(1e-12));
}

TEST_CASE("a name of models of any size needs all sizes") {
    MeasuredTraining row;
    row.model = "gpt-h1024-l2";
    row.layers = 2;
    row.hidden = 1024;
    row.ffn = 4096;
    row.heads = 16;
    row.sequence = 2048;
    const TrainedModels models = built_in();
    const auto without = models.config(row);
    REQUIRE(!without);
    CHECK(without.error().message == "vocab of `gpt-h1024-l2` is empty");
    row.vocab = 50257;
    const auto config = models.config(row);
    REQUIRE(config);
    // 12 h^2 + 13 h per layer, V h, learned positions, the last norm
    CHECK(params(*config, 2048) ==
          approx(2 * (12.0 * 1024 * 1024 + 13 * 1024) + 50257.0 * 1024 + 2048 * 1024 + 2 * 1024).epsilon(1e-12));
}

TEST_CASE("the name of a preset does not stand for models of any size") {
    MeasuredTraining row;
    row.model = "gpt-oss-120b";
    row.layers = 36;
    row.sequence = 4096;
    const auto config = built_in().config(row);
    REQUIRE(config);
    CHECK(config->model_type == "gpt_oss");
}

TEST_CASE("sequences may be longer than the configuration's context; unknown names are rejected") {
    MeasuredTraining row;
    row.model = "llama3-8b";
    row.sequence = 262144;
    const auto config = built_in().config(row);
    REQUIRE(config);
    CHECK(build_model(*config, 262144));
    row.model = "llama9";
    const auto unknown = built_in().config(row);
    REQUIRE(!unknown);
    CHECK(unknown.error().message == "the model `llama9` is unknown");
}

TEST_CASE("an invalid file of names is rejected") {
    const auto refused = [](std::string_view toml) { return !TrainedModels::parse(toml, "t.toml"); };
    CHECK(!refused("[[model]]\nnames = [\"a\"]\npreset = \"gpt2\"\n"));
    CHECK(refused("[[model]]\nnames = [\"a\"]\n"));
    CHECK(refused("[[model]]\npreset = \"gpt2\"\n"));
    CHECK(refused("[[model]]\nnames = [\"a\"]\npreset = \"gpt2\"\ncolumns = [\"deep=n_layer\"]\n"));
    CHECK(refused("[[model]]\nnames = [\"a\"]\npreset = \"gpt2\"\nset = [\"n_layer=four\"]\n"));
    CHECK(refused("[[model]]\nnames = [\"a\"]\npreset = \"gpt2\"\ntypo = 1\n"));
    const std::string adapters = "[[lora]]\nnames = [\"a\"]\npresets = [\"gpt2\"]\nrank = 8\n";
    CHECK(!refused(adapters + "on = [\"attention\"]\n"));
    CHECK(refused(adapters));
    CHECK(refused(adapters + "on = [\"attention\"]\ntypo = 1\n"));
}

TEST_CASE("the width of an expert is not that of a dense MLP, where a row has both") {
    const auto models = TrainedModels::built_in();
    REQUIRE(models);
    MeasuredTraining row;
    row.model = "qwen3-235b-a22b";
    row.ffn = 1536;
    auto config = models->config(row);
    REQUIRE(config);
    CHECK(config->find("moe_intermediate_size")->whole == 1536);  // a table without a column for it means experts
    row.ffn = 12288;
    row.expert_ffn = 768;
    config = models->config(row);
    REQUIRE(config);
    CHECK(config->find("moe_intermediate_size")->whole == 768);
    row.model = "llama31-8b";  // a dense model has no such key
    row.ffn = 14336;
    config = models->config(row);
    REQUIRE(config);
    CHECK(config->find("moe_intermediate_size") == nullptr);
    CHECK(config->find("intermediate_size")->whole == 14336);
}

TEST_CASE("an entry sets whole numbers, such as the size of heads that a row has no column for") {
    const auto models = TrainedModels::built_in();
    REQUIRE(models);
    MeasuredTraining row;
    row.model = "maxtext-64B";
    const auto config = models->config(row);
    REQUIRE(config);
    // get_individual_scales(64): twice doubled are 2048 columns, 7168 of an MLP, 16 heads and 16 layers
    REQUIRE(config->find("head_dim"));
    CHECK(config->find("head_dim")->whole == 128);
    CHECK(config->find("hidden_size")->whole == 8192);
    CHECK(config->find("intermediate_size")->whole == 28672);
    CHECK(config->find("num_attention_heads")->whole == 64);
    CHECK(config->find("num_hidden_layers")->whole == 64);
}
