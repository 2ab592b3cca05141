// Small configurations worked out by hand; published totals are in tests/cases/model.tsv.
#include "model/model.hpp"

#include <doctest/doctest.h>

#include <set>

#include "base/approx_test.hpp"
#include "model/account.hpp"
#include "model/presets.hpp"
#include "model/weights.hpp"

using namespace roofline::core;

namespace {

FileValue whole(std::int64_t number) {
    FileValue value;
    value.kind = FileValue::Kind::whole;
    value.whole = number;
    value.real = static_cast<double>(number);
    return value;
}

FileValue text(std::string_view word) {
    FileValue value;
    value.kind = FileValue::Kind::text;
    value.text = word;
    return value;
}

FileValue yes() {
    FileValue value;
    value.kind = FileValue::Kind::boolean;
    value.boolean = true;
    return value;
}

Config config(std::string_view model_type, std::vector<std::pair<std::string, FileValue>> keys) {
    Config result;
    result.name = "tiny.json";
    result.model_type = model_type;
    result.whole.kind = FileValue::Kind::table;
    result.whole.members = std::move(keys);
    return result;
}

/// Width 8, MLP 16, 3 layers, 4 query heads of width 2 that share 2 heads of keys and values, vocabulary 10.
std::vector<std::pair<std::string, FileValue>> tiny() {
    return {{"hidden_size", whole(8)},
            {"intermediate_size", whole(16)},
            {"num_hidden_layers", whole(3)},
            {"num_attention_heads", whole(4)},
            {"num_key_value_heads", whole(2)},
            {"vocab_size", whole(10)},
            {"max_position_embeddings", whole(64)},
            {"torch_dtype", text("bfloat16")}};
}

std::vector<std::pair<std::string, FileValue>> with(std::vector<std::pair<std::string, FileValue>> more) {
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

// Attention: queries and output 8 x 8, keys and values 8 x 4. MLP: three of 8 x 16. Two norms of 8.
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
    // Every parameter except the embedding and the norms is multiplying.
    CHECK(counts.total.multiplying.to_double() == params - 80 - 56);
    CHECK(counts.total.products.to_double() == 2 * (params - 80 - 56));
    // Scores and values of 32 tokens: 2 * 2 * 32 * 8 per layer, half of it masked.
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
    const auto total = [](std::string_view type, std::vector<std::pair<std::string, FileValue>> more) {
        return counted(built(config(type, with(std::move(more))))).total.params.to_double();
    };
    CHECK(total("llama", {{"tie_word_embeddings", yes()}}) == params - 80);
    CHECK(total("llama", {{"attention_bias", yes()}}) == params + 3 * (8 + 4 + 4 + 8));
    CHECK(total("llama", {{"mlp_bias", yes()}}) == params + 3 * (16 + 16 + 8));
    CHECK(total("qwen2", {}) == params + 3 * (8 + 4 + 4));
    CHECK(total("qwen3", {{"head_dim", whole(2)}}) == params + 3 * 2 * 2);
    CHECK(total("olmo2", {}) == params + 3 * (8 + 4));  // norms over all heads of queries and keys together
    CHECK(total("orion", {}) == params + 3 * 16 + 8);   // layer norms have biases
    // Gemma 2 has four norms per layer, and its head is the embedding.
    CHECK(total("gemma2", {{"head_dim", whole(2)}}) == params - 80 + 3 * 16);
}

TEST_CASE("a tiny Mixtral: each token uses two of four experts") {
    const Config from = config("mixtral", with({{"num_local_experts", whole(4)}, {"num_experts_per_tok", whole(2)}}));
    const ModelCounts counts = counted(built(from));
    CHECK(part(counts, "experts") == 3 * 4 * mlp);
    CHECK(part(counts, "router") == 3 * 8 * 4);
    const double all = 2 * 80 + 3 * (attention + 4 * mlp + 32 + 16) + 8;
    CHECK(counts.total.params.to_double() == all);
    CHECK(counts.total.active.to_double() == all - 3 * 2 * mlp);
    CHECK(counts.total.products.to_double() == 2 * (all - 3 * 2 * mlp - 80 - 56));
    // One token more than the experts can share evenly does not change the average per token.
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
    // A window longer than the sequence masks nothing.
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
    // One additional layer, a projection of two states to one, and three norms.
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
    // Input 2 x 8 x 12, taps and bias 4 x 12, step, B and C 12 x (5 + 8), the step's projection back 5 x 12 + 12, 12 x
    // 4, 12, output, a norm.
    const double layer = 192 + 48 + 156 + 72 + 48 + 12 + 96 + 8;
    CHECK(counts.total.params.to_double() == 80 + 8 + 2 * layer);
    CHECK(counts.cache.per_token.is_zero());
    CHECK(counts.cache.state_bytes.to_double() == 2 * (12 * 4 * 4 + 12 * 3 * 2));
}

TEST_CASE("quantised weights: blocks, groups and unquantised parameters") {
    const Model model = built(config("llama", tiny()));
    Quantisation quantisation;
    quantisation.method = "fp8";
    quantisation.ignored = {"lm_head", "model.layers.0.*"};
    quantisation.rules = {{{}, {"fp8, blocks of 4 x 3", 8, 32, 3, 4}}};
    const auto bytes = weight_bytes(model, {}, quantisation);
    REQUIRE(bytes);
    // Rows run along the summed dimension. Blocks of 3 x 4: q 8 x 8: 3 x 2; k, v 8 x 4: 3 x 1 each; o 8 x 8: 3 x 2;
    // gate, up 8 x 16: 3 x 4 each; down 16 x 8: 6 x 2. Each has a scale of 4 bytes, in two of the three layers.
    const double blocks = 6 + 3 + 3 + 6 + 12 + 12 + 12;
    const double quantised = 2 * (attention + mlp);
    CHECK(bytes->total.to_double() == 2 * (params - quantised) + quantised + 2 * blocks * 4);
    const auto all = weight_bytes(model, Dtype::int4, quantisation);
    REQUIRE(all);
    CHECK(all->total.to_double() == params / 2);
}

TEST_CASE("an invalid configuration is rejected with the key or the nearest name") {
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
    // 3 does not divide 4 heads
    CHECK(code(config("llama", with({{"num_key_value_heads", whole(3)}}))) == "bad_value");
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
    FileValue ragged;
    ragged.kind = FileValue::Kind::list;
    ragged.items = {text("sliding_attention")};
    CHECK(code(config("gemma2", with({{"layer_types", ragged}}))) == "bad_value");  // three layers, one kind
}

TEST_CASE("counts that overflow are an error, not a number") {
    const Model model = built(config("mistral", with({{"head_dim", whole(INT64_MAX)},
                                                      {"num_attention_heads", whole(INT64_MAX)},
                                                      {"num_key_value_heads", whole(1)}})));
    const auto counts = count_model(model);
    REQUIRE(!counts);
    CHECK(counts.error().code == "overflow");
}

TEST_CASE("notes list the defaults of a class that were used") {
    const Model model = built(config("llama", {{"vocab_size", whole(10)}}));
    bool said = false;
    for (const std::string& note : model.notes) said = said || note.find("hidden_size = 4096") != std::string::npos;
    CHECK(said);
}

TEST_CASE("every key table is valid, and every preset gives a model") {
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
        // Two FLOPs per multiplying parameter, counted in two ways. An image's keys and values come from its own
        // tokens, 6404 for the 1000 of the text: 2 * 4096 * 2048 more for each of the other 5404 in 8 layers.
        const double image = name == "llama-3.2-11b-vision" ? 8.0 * 2 * 4096 * 2048 * 5404 / 1000 : 0;
        CHECK(counts->total.products.to_double() == approx(2 * counts->total.multiplying.to_double() + image));
        // The printed program parses to the same program.
        const auto again = parse_program(print(model->program));
        REQUIRE_MESSAGE(again.has_value(), to_text(again.error()));
        CHECK(print(*again) == print(model->program));
        const auto shorter = build_model(*from, 600);
        REQUIRE(shorter);
        CHECK(with_sequence(*model, 600).program.sizes == shorter->program.sizes);
        CHECK(with_sequence(*shorter, 1000).program.sizes == model->program.sizes);
    }
    CHECK(preset_config("LLAMA-3.1-8B"));
    CHECK(preset_config("falcon-m"));
    CHECK(preset_config("llama-3").error().code == "unknown_model");
    CHECK(preset_config("").error().code == "unknown_model");
    // llama-2-7b is as near, but of another size
    CHECK(preset_config("llama3-8b").error().hint == "did you mean `llama-3.1-8b`?");
    CHECK(preset_config("lama-3.1-8b").error().hint == "did you mean `llama-3.1-8b`?");
    CHECK(preset_config("mixtrl-8x7b").error().hint == "did you mean `mixtral-8x7b`?");
}

TEST_CASE("models of other publishers have the published numbers of parameters") {
    const auto parameters = [](const std::string& type, std::vector<std::pair<std::string, FileValue>> keys) {
        const auto model = build_model(config(type, std::move(keys)), 1000);
        REQUIRE_MESSAGE(model.has_value(), (model ? "" : to_text(model.error())));
        const auto counts = count_model(*model);
        REQUIRE(counts);
        return counts->total.params.to_double();
    };
    // worked out by hand from each configuration; the totals of MPT-7B, ChatGLM3-6B, DeepSeekMoE-16B and OLMoE-1B-7B
    // are published
    CHECK(parameters("mpt", {{"d_model", whole(4096)},
                             {"n_heads", whole(32)},
                             {"n_layers", whole(32)},
                             {"vocab_size", whole(50432)}}) == 6'649'286'656.0);
    CHECK(parameters("chatglm", {{"multi_query_attention", yes()},
                                 {"multi_query_group_num", whole(2)},
                                 {"add_qkv_bias", yes()}}) == 6'243'584'000.0);
    CHECK(parameters("deepseek", {{"hidden_size", whole(2048)},
                                  {"intermediate_size", whole(10944)},
                                  {"num_hidden_layers", whole(28)},
                                  {"num_attention_heads", whole(16)},
                                  {"n_routed_experts", whole(64)},
                                  {"n_shared_experts", whole(2)},
                                  {"num_experts_per_tok", whole(6)},
                                  {"moe_intermediate_size", whole(1408)},
                                  {"first_k_dense_replace", whole(1)}}) == 16'375'728'128.0);
    CHECK(parameters("olmoe", {{"intermediate_size", whole(1024)}}) == 6'919'161'856.0);
    // MiMo-7B without its second head, GLM-4.5-Air without its layer that predicts further tokens
    CHECK(parameters("mimo", {{"hidden_size", whole(4096)},
                              {"intermediate_size", whole(11008)},
                              {"num_hidden_layers", whole(36)},
                              {"num_attention_heads", whole(32)},
                              {"num_key_value_heads", whole(8)},
                              {"vocab_size", whole(151680)}}) == 7'622'619'136.0);
    CHECK(parameters("glm4_moe", {{"hidden_size", whole(4096)},
                                  {"intermediate_size", whole(10944)},
                                  {"num_hidden_layers", whole(46)},
                                  {"num_attention_heads", whole(96)},
                                  {"num_key_value_heads", whole(8)},
                                  {"head_dim", whole(128)},
                                  {"vocab_size", whole(151552)},
                                  {"n_routed_experts", whole(128)},
                                  {"n_shared_experts", whole(1)},
                                  {"num_experts_per_tok", whole(8)},
                                  {"moe_intermediate_size", whole(1408)},
                                  {"attention_bias", yes()}}) == 106'852'251'264.0);
}

// The types of the most downloaded models, and related types.
TEST_CASE("the types of popular models are supported, or rejected with what is missing") {
    for (const char* type : {"gpt2",
                             "llama",
                             "qwen2",
                             "qwen3",
                             "qwen2_moe",
                             "qwen3_moe",
                             "qwen2_vl",
                             "qwen2_5_vl",
                             "qwen3_next",
                             "mistral",
                             "mixtral",
                             "ministral3",
                             "gemma",
                             "gemma2",
                             "gemma3_text",
                             "gemma3n",
                             "gemma4",
                             "phi",
                             "phi3",
                             "phimoe",
                             "phi4mm",
                             "falcon",
                             "falcon_h1",
                             "falcon_mamba",
                             "opt",
                             "bloom",
                             "gptj",
                             "gpt_neo",
                             "gpt_neox",
                             "gpt_oss",
                             "gpt_bigcode",
                             "starcoder2",
                             "codegen",
                             "mpt",
                             "t5",
                             "bert",
                             "roberta",
                             "distilbert",
                             "xlm-roberta",
                             "electra",
                             "deberta-v2",
                             "albert",
                             "mpnet",
                             "modernbert",
                             "whisper",
                             "wav2vec2",
                             "clip",
                             "deepseek",
                             "deepseek_v2",
                             "deepseek_v3",
                             "deepseek_v32",
                             "deepseek_v4",
                             "kimi_k2",
                             "kimi_linear",
                             "kimi_vl",
                             "glm",
                             "glm4",
                             "glm4_moe",
                             "glm4v",
                             "glm_moe_dsa",
                             "chatglm",
                             "baichuan",
                             "internlm2",
                             "internlm3",
                             "internvl_chat",
                             "minicpm",
                             "minicpm3",
                             "minimax",
                             "minimax_m2",
                             "minimax_m3",
                             "mimo",
                             "mimo_v2_flash",
                             "nemotron",
                             "nemotron_h",
                             "olmo",
                             "olmo2",
                             "olmo3",
                             "olmoe",
                             "cohere",
                             "cohere2",
                             "stablelm",
                             "smollm3",
                             "exaone",
                             "exaone4",
                             "granite",
                             "granitemoe",
                             "granitemoehybrid",
                             "jamba",
                             "mamba",
                             "mamba2",
                             "zamba2",
                             "bamba",
                             "rwkv",
                             "dbrx",
                             "grok-1",
                             "arctic",
                             "lfm2",
                             "lfm2_moe",
                             "hunyuan_v1_dense",
                             "hunyuan_v1_moe",
                             "ernie4_5",
                             "ernie4_5_moe",
                             "seed_oss",
                             "bailing_moe",
                             "step3p7",
                             "dots1",
                             "apertus",
                             "xglm",
                             "yuan",
                             "persimmon",
                             "orion"}) {
        CAPTURE(type);
        const auto table = key_table(type);
        REQUIRE(table);
        CHECK((!table->unsupported.empty() || !table->architecture.empty()));
        CHECK((table->unsupported.empty() || table->unsupported.size() > 20));
    }
}

TEST_CASE("a preset is found by its published names") {
    const auto found = [](const char* name) {
        const auto preset = preset_config(name);
        return preset ? preset->name : preset.error().hint;
    };
    CHECK(found("meta-llama/Llama-3.1-70B") == "llama-3.1-70b");
    CHECK(found("meta-llama/Meta-Llama-3.1-70B-Instruct") == "llama-3.1-70b");
    CHECK(found("mistralai/Mixtral-8x7B-Instruct-v0.1") == "mixtral-8x7b");
    CHECK(found("deepseek-ai/DeepSeek-V3-0324") == "deepseek-v3");
    CHECK(found("google/gemma-2-9b-it") == "gemma-2-9b");
    CHECK(found("somebody/new-model").find("hf download somebody/new-model config.json") != std::string::npos);
    CHECK(found("somebody/llama-3.1-70b-pruned").find("hf download") != std::string::npos);
}
