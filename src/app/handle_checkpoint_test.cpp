#include "app/handle_checkpoint.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace roofline::core;

namespace {

using Json = nlohmann::json;

struct NamedShape {
    std::string name;
    std::vector<std::int64_t> sizes;
};

/// Returns a bf16 safetensors file with these tensors; their bytes are never read.
WeightFile file_of(const std::vector<NamedShape>& shapes) {
    Json header;
    std::int64_t at = 0;
    for (const NamedShape& shape : shapes) {
        std::int64_t bytes = 2;
        for (const std::int64_t size : shape.sizes) bytes *= size;
        header[shape.name] = {{"dtype", "BF16"}, {"shape", shape.sizes}, {"data_offsets", {at, at + bytes}}};
        at += bytes;
    }
    const std::string text = header.dump();
    std::string head;
    for (std::size_t i = 0; i < 8; ++i) head += static_cast<char>(static_cast<unsigned char>(text.size() >> (8U * i)));
    return {"m.safetensors", head + text, 8 + text.size() + static_cast<std::uint64_t>(at)};
}

/// A Llama with hidden size 8, two attention heads and one KV head of size 4, an MLP of 16, two layers, and a
/// vocabulary of 10.
std::vector<NamedShape> small_llama() {
    std::vector<NamedShape> shapes{
        {"model.embed_tokens.weight", {10, 8}}, {"lm_head.weight", {10, 8}}, {"model.norm.weight", {8}}};
    for (const std::string layer : {"0", "1"}) {
        const std::string front = "model.layers." + layer + ".";
        for (const NamedShape& shape :
             {NamedShape{"self_attn.q_proj.weight", {8, 8}}, NamedShape{"self_attn.k_proj.weight", {4, 8}},
              NamedShape{"self_attn.v_proj.weight", {4, 8}}, NamedShape{"self_attn.o_proj.weight", {8, 8}},
              NamedShape{"mlp.gate_proj.weight", {16, 8}}, NamedShape{"mlp.up_proj.weight", {16, 8}},
              NamedShape{"mlp.down_proj.weight", {8, 16}}, NamedShape{"input_layernorm.weight", {8}},
              NamedShape{"post_attention_layernorm.weight", {8}}}) {
            shapes.push_back({front + shape.name, shape.sizes});
        }
    }
    return shapes;
}

Json answer_of(const std::vector<NamedShape>& shapes, std::string config) {
    ModelRequest request;
    request.checkpoint = {file_of(shapes)};
    request.config = {"config.json", std::move(config)};
    const Response response = handle(Request{std::move(request), Format::json, false});
    return Json::parse(response.out, nullptr, false);
}

constexpr const char* config =
    R"({"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 1,
    "intermediate_size": 16, "num_hidden_layers": 2, "vocab_size": 10, "torch_dtype": "bfloat16"})";

}  // namespace

TEST_CASE("a checkpoint that is what its configuration says") {
    // Parameters: 2 * 10 * 8 + 8, and in each layer 2 * 64 + 2 * 32 + 3 * 128 + 2 * 8 = 592.
    const Json json = answer_of(small_llama(), config);
    CHECK(json["params"] == 1352);
    CHECK(json["bytes"] == 2704);
    CHECK(json["by_layer"]["1"]["params"] == 592);
    CHECK(json["configuration"]["params"] == 1352);
    CHECK(json["configuration"]["params_in_files"] == 1352);
    CHECK(json["configuration"]["weight_bytes"] == 2704);
    CHECK(json["configuration"]["differences"].empty());
}

TEST_CASE("tensors that differ from the configuration are named") {
    std::vector<NamedShape> shapes = small_llama();
    shapes.push_back({"model.layers.1.self_attn.q_proj.bias", {3}});
    shapes.push_back({"model.layers.2.mlp.up_proj.weight", {5}});
    shapes.push_back({"vision_tower.conv.weight", {7}});
    shapes.erase(shapes.begin() + 1);  // removes the output head
    const Json json = answer_of(shapes, config)["configuration"];
    CHECK(json["params_in_files"] == 1352 + 3 - 80);
    CHECK(json["params_further"] == 5);
    CHECK(json["params_vision"] == 7);
    REQUIRE(json["differences"].size() == 2);
    CHECK(json["differences"][0]["layers"].empty());
    CHECK(json["differences"][0]["only_in_configuration"] == Json{"Head [8, 10]"});
    CHECK(json["differences"][1]["layers"] == Json{1});
    CHECK(json["differences"][1]["only_in_files"] == Json{"self_attn.q_proj.bias [3]"});
}

TEST_CASE("files of weights stand by themselves; what they do not say is not answered") {
    CHECK(answer_of(small_llama(), "")["configuration"].is_null());
    const Json other = answer_of(small_llama(), R"({"model_type": "nobody_knows"})");
    CHECK(other["configuration"].is_null());
    CHECK(other["params"] == 1352);
    CHECK(other["notes"].size() == 1);
    ModelRequest request;
    request.checkpoint = {file_of(small_llama())};
    request.sequence = "4k";
    CHECK(handle_checkpoint(request, Format::text).error().code == "usage");
}
