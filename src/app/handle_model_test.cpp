#include "app/request.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "notation/notation.hpp"

using namespace roofline::core;

namespace {

constexpr const char* tiny =
    R"({"model_type": "mixtral", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 10, "num_local_experts": 4, "num_experts_per_tok": 2,
        "max_position_embeddings": 64,
        "torch_dtype": "bfloat16"})";

ModelRequest tiny_request() {
    ModelRequest request;
    request.config = {"tiny.json", tiny};
    request.sequence = "32";
    return request;
}

nlohmann::json answered(const ModelRequest& request) {
    const Response response = handle({request, Format::json, false});
    REQUIRE(!response.error);
    return nlohmann::json::parse(response.out, nullptr, false);
}

}  // namespace

TEST_CASE("the contract of the JSON: keys, kinds, and what they add up to") {
    const nlohmann::json json = answered(tiny_request());
    CHECK(json["schema"] == 1);
    double sum = 0;
    for (const char* part : {"embedding", "attention", "mlp", "experts", "norm", "head", "router"}) {
        REQUIRE(json["params_by"].contains(part));
        sum += json["params_by"][part].get<double>();
    }
    CHECK(sum == json["params"].get<double>());
    CHECK(json["params_by"]["mlp"] == 0);
    CHECK(json["flops_per_token"]["train"].get<double>() == 3 * json["flops_per_token"]["forward"].get<double>());
    REQUIRE(json["layers"].size() == 3);
    double layers = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(json["layers"][i]["layer"] == i);
        layers += json["layers"][i]["params"].get<double>();
    }
    CHECK(layers + 2 * 80 + 8 == json["params"].get<double>());  // embedding, output head and final norm
    CHECK(json["weight_bytes"].get<double>() == 2 * json["params"].get<double>());
    CHECK(json["notes"].is_array());
}

TEST_CASE("options change what they name") {
    ModelRequest request = tiny_request();
    const nlohmann::json plain = answered(request);
    request.kv_dtype = "int8";
    request.weights = "int4";
    const nlohmann::json small = answered(request);
    CHECK(small["kv_bytes_per_token"].get<double>() * 2 == plain["kv_bytes_per_token"].get<double>());
    CHECK(small["weight_bytes"].get<double>() * 4 == plain["weight_bytes"].get<double>());
    request.sequence = "16";
    CHECK(answered(request)["flops_per_token"]["attention"].get<double>() * 2 ==
          plain["flops_per_token"]["attention"].get<double>());
}

TEST_CASE("a quantisation of its own file") {
    ModelRequest request = tiny_request();
    request.quantisation = {
        "hf_quant_config.json",
        R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})"};
    const nlohmann::json json = answered(request);
    CHECK(json["weights"]["by"].contains("fp8"));
    CHECK(json["weights"]["by"].contains("bf16"));
    CHECK(json["weight_bytes"].get<double>() < 2 * json["params"].get<double>());
    request.quantisation.text = "{";
    CHECK(handle({request, Format::json, false}).exit_code == 2);
}

TEST_CASE("the program that is printed is one, and sized") {
    ModelRequest request = tiny_request();
    request.program = true;
    const Response response = handle({request, Format::text, false});
    REQUIRE(!response.error);
    const auto program = parse_program(response.out);
    REQUIRE(program);
    CHECK(program->sized());
}

TEST_CASE("tables and the picture") {
    ModelRequest request = tiny_request();
    request.plot = true;
    const Response csv = handle({request, Format::csv, false});
    CHECK(csv.out.starts_with("part,params,params_active,flops_forward,flops_attention\n"));
    CHECK(csv.svg.starts_with("<svg "));
    CHECK(csv.svg.find("experts") != std::string::npos);
    request.layers = true;
    CHECK(handle({request, Format::markdown, false}).out.find("| 0-2 ") != std::string::npos);
    CHECK(handle({request, Format::text, false}).out.find("note: active parameters: embedding, head") !=
          std::string::npos);
    ModelRequest list;
    list.list = true;
    CHECK(handle({list, Format::text, false}).out.find("llama-3.1-8b") != std::string::npos);
}

TEST_CASE("wrong requests end with 2 and say what to do") {
    const auto fails = [](auto change) {
        ModelRequest request = tiny_request();
        change(request);
        const Response response = handle({request, Format::json, false});
        CHECK(response.exit_code == 2);
        REQUIRE(response.error);
        CHECK(!response.error->hint.empty());
        return response.error->code;
    };
    CHECK(fails([](ModelRequest& r) { r.kv_dtype = "bf17"; }) == "unknown_dtype");
    CHECK(fails([](ModelRequest& r) { r.weights = "w4"; }) == "unknown_dtype");
    CHECK(fails([](ModelRequest& r) { r.weights = "bool"; }) == "bad_dtype");
    CHECK(fails([](ModelRequest& r) { r.sequence = "65"; }) == "bad_request");
    CHECK(fails([](ModelRequest& r) { r.config = {"llama-9", ""}; }) == "unknown_model");
    CHECK(fails([](ModelRequest& r) { r.config = {"t5.json", R"({"model_type": "t5"})"}; }) == "unsupported");
    CHECK(fails([](ModelRequest& r) { r.config = {"x.json", R"({"model_type": "llamma"})"}; }) == "unknown_model_type");
}
