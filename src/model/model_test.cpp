// Small configurations worked out by hand; published totals stand in tests/cases/model.tsv.
#include "model/model.hpp"

#include <doctest/doctest.h>

#include <set>

#include "base/approx_test.hpp"
#include "model/account.hpp"
#include "model/presets.hpp"
#include "model/weights.hpp"

using namespace roofline;

namespace {

ConfigValue whole(std::int64_t number) {
    ConfigValue value;
    value.kind = ConfigValue::Kind::whole;
    value.whole = number;
    value.real = static_cast<double>(number);
    return value;
}

ConfigValue text(std::string_view word) {
    ConfigValue value;
    value.kind = ConfigValue::Kind::text;
    value.text = word;
    return value;
}

ConfigValue yes() {
    ConfigValue value;
    value.kind = ConfigValue::Kind::boolean;
    value.boolean = true;
    return value;
}

Config config(std::string_view model_type, std::vector<std::pair<std::string, ConfigValue>> keys) {
    Config result;
    result.name = "tiny.json";
    result.model_type = model_type;
    result.whole.kind = ConfigValue::Kind::table;
    result.whole.members = std::move(keys);
    return result;
}

/// Width 8, MLP 16, 3 layers, 4 heads of 2 that share 2 of keys and values, 10 words.
std::vector<std::pair<std::string, ConfigValue>> tiny() {
    return {{"hidden_size", whole(8)},
            {"intermediate_size", whole(16)},
            {"num_hidden_layers", whole(3)},
            {"num_attention_heads", whole(4)},
            {"num_key_value_heads", whole(2)},
            {"vocab_size", whole(10)},
            {"max_position_embeddings", whole(64)},
            {"torch_dtype", text("bfloat16")}};
}

std::vector<std::pair<std::string, ConfigValue>> with(std::vector<std::pair<std::string, ConfigValue>> more) {
    auto keys = tiny();
    for (auto& [key, value] : more) {
        std::erase_if(keys, [&](const auto& entry) { return entry.first == key; });
        keys.emplace_back(key, std::move(value));
    }
    return keys;
}

Model built(const Config& from, std::int64_t sequence = 32) {
    auto model = build_model(from, sequence);
    REQUIRE_MESSAGE(model.has_value(), to_text(model.error()));
    return std::move(*model);
}

ModelCounts counted(const Model& model) {
    auto counts = count_model(model);
    REQUIRE(counts);
    return std::move(*counts);
}

std::string code(const Config& from, std::optional<std::int64_t> sequence = 32) {
    auto model = build_model(from, sequence);
    return model ? "" : model.error().code;
}

double part(const ModelCounts& counts, const std::string& name) {
    const auto found = counts.parts.find(name);
    return found == counts.parts.end() ? 0 : found->second.params.to_double();
}

// Attention: queries and the way out 8 x 8, keys and values 8 x 4. MLP: three of 8 x 16. Two norms of 8.
constexpr double attention = 2 * 64 + 2 * 32;
constexpr double mlp = 3 * 128;
constexpr double params = 2 * 80 + 3 * (attention + mlp + 16) + 8;

}  // namespace

TEST_CASE("a tiny Llama, by hand") {
    const Model model = built(config("llama", tiny()));
    const ModelCounts counts = counted(model);
    CHECK(counts.total.params.to_double() == params);
    CHECK(part(counts, "embedding") == 80);
    CHECK(part(counts, "head") == 80);
    CHECK(part(counts, "attention") == 3 * attention);
    CHECK(part(counts, "mlp") == 3 * mlp);
    CHECK(part(counts, "norm") == 3 * 16 + 8);
    // Every parameter but the embedding and the norms multiplies.
    CHECK(counts.total.multiplying.to_double() == params - 80 - 56);
    CHECK(counts.total.products.to_double() == 2 * (params - 80 - 56));
    // Scores and values of 32 tokens: 2 * 2 * 32 * 8 in each layer, half of it masked.
    CHECK(counts.total.attention.to_double() == 3 * 2 * 32 * 8);
    CHECK(counts.cache.per_token.to_double() == 3 * 2 * 4);
    CHECK(counts.cache.sequence.to_double() == 32 * 3 * 2 * 4);
    CHECK(counts.activations.full.to_double() == 3 * 8 * 2);
    CHECK(counts.attention_overtakes.value_or(0) == 48);  // 2 S 8 = 2 * 384
    const auto bytes = weight_bytes(model, {}, {});
    REQUIRE(bytes);
    CHECK(bytes->total.to_double() == 2 * params);
}

TEST_CASE("biases, tied heads and the norms of heads count") {
    const auto total = [](std::string_view type, std::vector<std::pair<std::string, ConfigValue>> more) {
        return counted(built(config(type, with(std::move(more))))).total.params.to_double();
    };
    CHECK(total("llama", {{"tie_word_embeddings", yes()}}) == params - 80);
    CHECK(total("llama", {{"attention_bias", yes()}}) == params + 3 * (8 + 4 + 4 + 8));
    CHECK(total("llama", {{"mlp_bias", yes()}}) == params + 3 * (16 + 16 + 8));
    CHECK(total("qwen2", {}) == params + 3 * (8 + 4 + 4));
    CHECK(total("qwen3", {{"head_dim", whole(2)}}) == params + 3 * 2 * 2);
    CHECK(total("olmo2", {}) == params + 3 * (8 + 4));  // norms over all heads of queries and keys at once
    CHECK(total("orion", {}) == params + 3 * 16 + 8);   // layer norms have biases
    // Gemma 2: four norms a layer; its head is the embedding.
    CHECK(total("gemma2", {{"head_dim", whole(2)}}) == params - 80 + 3 * 16);
}

TEST_CASE("a tiny Mixtral: of four experts each token meets two") {
    const Config from = config("mixtral", with({{"num_local_experts", whole(4)}, {"num_experts_per_tok", whole(2)}}));
    const ModelCounts counts = counted(built(from));
    CHECK(part(counts, "experts") == 3 * 4 * mlp);
    CHECK(part(counts, "router") == 3 * 8 * 4);
    const double all = 2 * 80 + 3 * (attention + 4 * mlp + 32 + 16) + 8;
    CHECK(counts.total.params.to_double() == all);
    CHECK(counts.total.active.to_double() == all - 3 * 2 * mlp);
    CHECK(counts.total.products.to_double() == 2 * (all - 3 * 2 * mlp - 80 - 56));
    // A token more than the experts can share evenly changes nothing of a token's average.
    CHECK(counted(built(from, 31)).total.products.to_double() == counts.total.products.to_double());
}

TEST_CASE("windows: the cache stops growing and attention is a band") {
    const Config from = config("mistral", with({{"sliding_window", whole(8)}, {"head_dim", whole(2)}}));
    const ModelCounts counts = counted(built(from));
    CHECK(counts.cache.per_token.to_double() == 24);
    CHECK(counts.cache.per_token_later.to_double() == 0);
    CHECK(counts.cache.sequence.to_double() == 8 * 24);
    CHECK(counts.total.attention.to_double() == 3 * 4 * 8 * (8 - 8 * 8 / 2.0 / 32));
    CHECK(!counts.attention_overtakes);
    // A window beyond the sequence masks nothing.
    const Config wide = config("mistral", with({{"sliding_window", whole(1000)}, {"head_dim", whole(2)}}));
    CHECK(counted(built(wide)).total.attention.to_double() == 3 * 2 * 32 * 8);
}

TEST_CASE("latent attention keeps a latent and one rotary key") {
    const Config from = config("deepseek_v3", with({{"kv_lora_rank", whole(6)},
                                                    {"q_lora_rank", whole(5)},
                                                    {"qk_nope_head_dim", whole(3)},
                                                    {"qk_rope_head_dim", whole(2)},
                                                    {"v_head_dim", whole(4)},
                                                    {"n_routed_experts", whole(4)},
                                                    {"num_experts_per_tok", whole(2)},
                                                    {"moe_intermediate_size", whole(7)},
                                                    {"n_shared_experts", whole(1)},
                                                    {"first_k_dense_replace", whole(1)},
                                                    {"num_nextn_predict_layers", whole(1)}}));
    const Model model = built(from);
    const ModelCounts counts = counted(model);
    const double mla = 8 * 5 + 5 * 4 * 5 + 8 * (6 + 2) + 6 * 4 * (3 + 4) + 4 * 4 * 8;
    const double norms = 5 + 6 + 16;
    const double expert = 3 * 8 * 7;
    const double layer = mla + norms + 4 * expert + expert + 8 * 4 + 4;
    CHECK(counts.total.params.to_double() == 160 + 8 + 3 * (mla + norms) + mlp + 2 * (layer - mla - norms));
    CHECK(counts.total.active.to_double() == counts.total.params.to_double() - 2 * 2 * expert);
    // One layer more, a projection of two states to one, and three norms.
    CHECK(counts.mtp.params.to_double() == layer + 2 * 8 * 8 + 3 * 8);
    CHECK(counts.cache.per_token.to_double() == 3 * (6 + 2));
    REQUIRE(model.groups.size() == 2);
    CHECK(model.groups[0].layers == std::vector<std::int64_t>{0});
    CHECK(model.groups[1].layers == std::vector<std::int64_t>{1, 2});
    CHECK(model.groups[1].label == "moe");
}

TEST_CASE("Mamba 1 keeps a state that does not grow") {
    const Config from = config("falcon_mamba", {{"hidden_size", whole(8)},
                                                {"num_hidden_layers", whole(2)},
                                                {"intermediate_size", whole(12)},
                                                {"state_size", whole(4)},
                                                {"conv_kernel", whole(3)},
                                                {"time_step_rank", whole(5)},
                                                {"vocab_size", whole(10)},
                                                {"tie_word_embeddings", yes()}});
    const ModelCounts counts = counted(built(from));
    // In 2 x 8 x 12, taps and bias 4 x 12, step, B and C 12 x (5 + 8), the step's way back 5 x 12 + 12, 12 x 4, 12, out, a norm
    const double layer = 192 + 48 + 156 + 72 + 48 + 12 + 96 + 8;
    CHECK(counts.total.params.to_double() == 80 + 8 + 2 * layer);
    CHECK(counts.cache.per_token.is_zero());
    CHECK(counts.cache.state_bytes.to_double() == 2 * (12 * 4 * 4 + 12 * 3 * 2));
}

TEST_CASE("quantised weights: blocks, groups and what stays as it was") {
    const Model model = built(config("llama", tiny()));
    Quantisation quantisation;
    quantisation.method = "fp8";
    quantisation.ignored = {"lm_head", "model.layers.0.*"};
    quantisation.rules = {{{}, {"fp8, blocks of 4 x 3", 8, 32, 3, 4}}};
    const auto bytes = weight_bytes(model, {}, quantisation);
    REQUIRE(bytes);
    // Rows are what a product sums. Blocks of 3 x 4: q 8 x 8: 3 x 2; k, v 8 x 4: 3 x 1 each; o 8 x 8: 3 x 2; gate, up 8 x 16: 3 x 4
    // each; down 16 x 8: 6 x 2. A scale of 4 bytes for each, in two of the three layers.
    const double blocks = 6 + 3 + 3 + 6 + 12 + 12 + 12;
    const double quantised = 2 * (attention + mlp);
    CHECK(bytes->total.to_double() == 2 * (params - quantised) + quantised + 2 * blocks * 4);
    const auto all = weight_bytes(model, Dtype::int4, quantisation);
    REQUIRE(all);
    CHECK(all->total.to_double() == params / 2);
}

TEST_CASE("what a configuration cannot mean is refused, with the key or the nearest name") {
    const auto unknown = build_model(config("lama", tiny()), 32);
    REQUIRE(!unknown);
    CHECK(unknown.error().code == "unknown_model_type");
    CHECK(unknown.error().hint == "did you mean `llama`?");
    const auto missing = build_model(
        config("gemma2", {{"hidden_size", whole(8)}, {"intermediate_size", whole(8)}, {"num_hidden_layers", whole(2)}}),
        32);
    REQUIRE(!missing);
    CHECK(missing.error().code == "missing_key");
    CHECK(missing.error().message == "the configuration has no `num_attention_heads`");
    CHECK(code(config("llama", with({{"num_key_value_heads", whole(3)}}))) == "bad_value");  // 4 heads of 3
    CHECK(code(config("llama", with({{"hidden_size", text("8")}}))) == "bad_value");
    CHECK(code(config("llama", with({{"hidden_size", whole(-8)}}))) == "bad_value");
    CHECK(code(config("llama", with({{"num_hidden_layers", whole(0)}}))) == "bad_value");
    CHECK(code(config("llama", with({{"num_hidden_layers", whole(1'000'000'000)}}))) == "bad_value");
    CHECK(code(config("llama", with({{"vocab_size", whole(0)}}))) == "bad_value");
    CHECK(code(config("llama", with({{"intermediate_size", whole(INT64_MAX)}}))) == "");
    CHECK(code(config("mistral", with({{"head_dim", whole(INT64_MAX)},
                                       {"num_attention_heads", whole(INT64_MAX)},
                                       {"num_key_value_heads", whole(1)}}))) == "");
    CHECK(code(config("llama", tiny()), 65) == "bad_request");  // beyond its context of 64
    CHECK(code(config("gpt2", {{"add_cross_attention", yes()}})) == "unsupported");
    ConfigValue ragged;
    ragged.kind = ConfigValue::Kind::list;
    ragged.items = {text("sliding_attention")};
    CHECK(code(config("gemma2", with({{"layer_types", ragged}}))) == "bad_value");  // three layers, one kind
}

TEST_CASE("counts beyond what can be held are an error, not a number") {
    const Model model = built(config("mistral", with({{"head_dim", whole(INT64_MAX)},
                                                      {"num_attention_heads", whole(INT64_MAX)},
                                                      {"num_key_value_heads", whole(1)}})));
    const auto counts = count_model(model);
    REQUIRE(!counts);
    CHECK(counts.error().code == "overflow");
}

TEST_CASE("defaults of a class are said") {
    const Model model = built(config("llama", {{"vocab_size", whole(10)}}));
    bool said = false;
    for (const std::string& note : model.notes) said = said || note.find("hidden_size = 4096") != std::string::npos;
    CHECK(said);
}

TEST_CASE("every key table reads, and every preset is a model") {
    for (const std::string& type : known_model_types()) {
        CAPTURE(type);
        const auto table = key_table(type);
        REQUIRE_MESSAGE(table.has_value(), to_text(table.error()));
        CHECK(!architecture_text(table->architecture).empty());
        CHECK(!table->layers.empty());
    }
    CHECK(preset_names().size() > 20);
    for (const std::string& name : preset_names()) {
        CAPTURE(name);
        const auto from = preset_config(name);
        REQUIRE(from);
        const auto model = build_model(*from, 1000);
        REQUIRE_MESSAGE(model.has_value(), to_text(model.error()));
        const auto counts = count_model(*model);
        REQUIRE_MESSAGE(counts.has_value(), to_text(counts.error()));
        // Two FLOPs for every parameter that multiplies, by two ways of counting. An image's keys and values are made of its own
        // tokens, 6404 for the 1000 of the text: 2 * 4096 * 2048 more for each of the other 5404 in 8 layers.
        const double image = name == "llama-3.2-11b-vision" ? 8.0 * 2 * 4096 * 2048 * 5404 / 1000 : 0;
        CHECK(counts->total.products.to_double() == approx(2 * counts->total.multiplying.to_double() + image));
        // What is printed is the program.
        const auto again = parse_program(print(model->program));
        REQUIRE_MESSAGE(again.has_value(), to_text(again.error()));
        CHECK(print(*again) == print(model->program));
    }
    CHECK(preset_config("LLAMA-3.1-8B"));
    CHECK(preset_config("falcon-m"));
    CHECK(preset_config("llama-3").error().code == "unknown_model");
    CHECK(preset_config("").error().code == "unknown_model");
}
