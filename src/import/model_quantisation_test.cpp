#include <doctest/doctest.h>

#include "model/weights.hpp"
#include "text/json.hpp"

using namespace roofline::core;

namespace {

Result<std::optional<Quantisation>> quantisation_of(std::string_view json) {
    Config config;
    config.whole = parse_json(json, "c.json").value();
    return quantisation_of(config, nullptr);
}

std::string formats(std::string_view json) {
    const auto quantisation = quantisation_of(json);
    if (!quantisation) return quantisation.error().code;
    if (!*quantisation) return "none";
    std::string text;
    for (const Quantisation::Rule& rule : (*quantisation)->rules) {
        text += rule.format.name + " " + std::to_string(rule.format.bits) + "+" +
                std::to_string(rule.format.block_bits) + "/" + std::to_string(rule.format.rows) + "x" +
                std::to_string(rule.format.columns) + ";";
    }
    return text;
}

}  // namespace

TEST_CASE("the formats in which configurations describe quantised weights") {
    CHECK(formats("{}") == "none");
    CHECK(formats(R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 64]}})") ==
          "fp8, blocks of 128 x 64 8+32/64x128;");
    CHECK(formats(R"({"quantization_config": {"quant_method": "fp8"}})") == "fp8 8+32/0x1;");
    CHECK(formats(R"({"quantization_config": {"quant_method": "mxfp4"}})") == "mxfp4 4+8/32x1;");
    CHECK(formats(R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}})") ==
          "nvfp4 4+8/16x1;");
    CHECK(formats(R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 64}})") ==
          "int4, groups of 64 4+20/64x1;");
    CHECK(formats(R"({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"g": {
              "targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "group_size": 32}}}}})") ==
          "int4, groups of 32 4+16/32x1;");
    CHECK(formats(R"({"quantization_config": {"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized",
              "config_groups": {"g": {"weights": {"num_bits": 4, "type": "float", "group_size": 32}}}}})") ==
          "mxfp4 4+8/32x1;");
    CHECK(formats(
              R"({"quantization_config": {"quantized_layers": {"a": {"quant_algo": "FP8"}, "b": {"quant_algo": "NVFP4"},
              "c": {"quant_algo": "FP8"}}, "quant_algo": "MIXED_PRECISION"}})") == "fp8 8+32/0x1;nvfp4 4+8/16x1;");
}

TEST_CASE("without a group size, a column of packed integers has one scale") {
    const auto quantisation = quantisation_of(R"({"quantization_config": {"quant_method": "gptq", "group_size": -1}})");
    REQUIRE(quantisation);
    const WeightFormat& format = (*quantisation)->rules.at(0).format;
    CHECK(format.name == "int4, channels");
    CHECK(format.block_bits == 16 + 4);
    CHECK(format.columns == 1);
}

TEST_CASE("the head is not quantised unless a configuration says so") {
    const auto ignored = [](std::string_view json) {
        const auto quantisation = quantisation_of(json);
        REQUIRE(quantisation);
        return (*quantisation)->ignored;
    };
    using Texts = std::vector<std::string>;
    CHECK(ignored(R"({"quantization_config": {"quant_method": "gptq"}})") == Texts{"lm_head"});
    CHECK(ignored(R"({"quantization_config": {"quant_method": "gptq", "lm_head": true}})").empty());
    CHECK(ignored(R"({"quantization_config": {"quant_method": "awq", "modules_to_not_convert": ["vision"]}})") ==
          Texts{"vision", "lm_head"});
    CHECK(ignored(R"({"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": null}})") ==
          Texts{"lm_head"});
    CHECK(ignored(R"({"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": ["gate"]}})") ==
          Texts{"gate"});
    CHECK(ignored(R"({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"g": {
              "weights": {"num_bits": 8, "type": "float"}}}}})")
              .empty());
}

TEST_CASE("an unknown quantisation is rejected, not ignored") {
    CHECK(formats(R"({"quantization_config": {"quant_method": "quip"}})") == "unsupported");
    CHECK(formats(R"({"quantization_config": {}})") == "unsupported");
    CHECK(formats(R"({"quantization_config": 4})") == "bad_value");
    CHECK(formats(R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [0, 1]}})") == "bad_value");
    CHECK(formats(R"({"quantization_config": {"quant_method": "fp8", "ignore": [1]}})") == "bad_value");
    CHECK(formats(R"({"quantization_config": {"quant_method": "gptq", "bits": 5}})") == "unsupported");
    CHECK(formats(R"({"quantization_config": {"quant_method": "gptq", "group_size": -2}})") == "bad_value");
    CHECK(formats(R"({"quantization_config": {"quant_method": "compressed-tensors"}})") == "unsupported");
    CHECK(formats(R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "W2"}})") == "unsupported");
}
