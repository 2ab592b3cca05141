#include "app/request.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace roofline::core;

namespace {

TrainRequest launched_llama(const std::string& text) {
    TrainRequest request;
    request.config = {"llama-3.1-8b", ""};
    request.machines = {{"h100-sxm:8x2", {}}};
    request.plan_from = LaunchFile{"", {"run.sh", text}};
    return request;
}

constexpr const char* megatron_line =
    "torchrun pretrain_gpt.py --tensor-model-parallel-size 4 --use-distributed-optimizer --sequence-parallel\\\n"
    "  --micro-batch-size 1 --global-batch-size 32 --seq-length 2048 --bf16\n";

nlohmann::json answer_of(const Result<Response>& response) {
    REQUIRE_MESSAGE(response, response.error().message);
    return nlohmann::json::parse(response->out);
}

}  // namespace

TEST_CASE("--plan-from gives the answer of the options that the file says") {
    auto launched = answer_of(handle(launched_llama(megatron_line), Format::json));
    TrainRequest said;
    said.config = {"llama-3.1-8b", ""};
    said.machines = {{"h100-sxm:8x2", {}}};
    said.mesh = {"data=4,tensor=4"};
    said.zero = "1";
    said.microbatches = "8";  // 32 sequences on 4 replicas, one at a time
    said.sequence = "2048";
    said.batch_tokens = "65536";
    said.optimizer = "adam,master,gradients=f32";
    said.framework.name = "megatron-lm";
    said.overlap = "none";
    auto expected = answer_of(handle(said, Format::json));
    CHECK(launched["notes"].size() > expected["notes"].size());
    launched.erase("notes");
    expected.erase("notes");
    CHECK(launched == expected);
}

TEST_CASE("options beside --plan-from must agree with the file") {
    TrainRequest request = launched_llama(megatron_line);
    request.mesh = {"data=4,tensor=4"};
    CHECK(handle(request, Format::json));
    request.mesh = {"data=2,tensor=8"};
    auto response = handle(request, Format::json);
    REQUIRE_FALSE(response);
    CHECK(response.error().code == "contradiction");
    request = launched_llama(megatron_line);
    request.batch_tokens = "1Mi";
    response = handle(request, Format::json);
    REQUIRE_FALSE(response);
    CHECK(response.error().message == "--batch-tokens is 1Mi, but run.sh says 65536");
}

TEST_CASE("--emit prints the launch alone, and in JSON as a key") {
    TrainRequest request = launched_llama(megatron_line);
    request.emit = "megatron";
    const auto text = handle(request, Format::text);
    REQUIRE(text);
    CHECK(text->out.starts_with("# Megatron-LM core_v0.15.0"));
    CHECK(text->out.find("--tensor-model-parallel-size 4") != std::string::npos);
    const auto json = answer_of(handle(request, Format::json));
    CHECK(json["emitted"]["framework"] == "megatron");
    CHECK(json["emitted"]["text"] == text->out);
    request.emit = "vllm";
    CHECK(handle(request, Format::text).error().code == "wrong_framework");
    request.emit = "megatron";
    CHECK_FALSE(handle(request, Format::csv));
}

TEST_CASE("a server's flags give the answer of the options that they say") {
    ServeRequest launched;
    launched.config = {"llama-3.1-8b", ""};
    launched.machines = {{"h100-sxm:8", {}}};
    launched.prompt = "1k";
    launched.output = "100";
    ServeRequest said = launched;
    launched.plan_from =
        LaunchFile{"", {"serve.sh", "vllm serve x -tp 4 -dp 2 --max-num-seqs 16 --kv-cache-dtype fp8"}};
    said.mesh = {"data=2,tensor=4"};
    said.batch = "32";
    said.kv_dtype = "fp8";
    said.software = "vllm";
    auto answer = answer_of(handle(launched, Format::json));
    auto expected = answer_of(handle(said, Format::json));
    answer.erase("notes");
    expected.erase("notes");
    CHECK(answer == expected);
    launched.batch = "64";
    CHECK(handle(launched, Format::json).error().code == "contradiction");
}

TEST_CASE("a server's file of TensorRT-LLM gives the answer of the options that it says") {
    ServeRequest launched;
    launched.config = {"mixtral-8x7b", ""};
    launched.machines = {{"h100-sxm:8", {}}};
    launched.prompt = "1k";
    launched.output = "100";
    ServeRequest said = launched;
    launched.plan_from = LaunchFile{"",
                                    {"a.yml",
                                     "tensor_parallel_size: 8\nmoe_expert_parallel_size: 8\n"
                                     "enable_attention_dp: true\nmax_batch_size: 4\nkv_cache_config: {dtype: fp8}\n"}};
    said.mesh = {"expert=8"};
    said.batch = "32";  // 4 of each of 8 replicas
    said.kv_dtype = "fp8";
    said.software = "trtllm";
    auto answer = answer_of(handle(launched, Format::json));
    auto expected = answer_of(handle(said, Format::json));
    answer.erase("notes");
    expected.erase("notes");
    CHECK(answer == expected);
}

TEST_CASE("disaggregated serving is emitted as two launches") {
    ServeRequest request;
    request.config = {"llama-3.1-8b", ""};
    request.machines = {{"h100-sxm:2", {}}};
    request.mesh = {"tensor=2"};
    request.prefill = MachineRef{"h100-sxm:4", {}};
    request.prefill_mesh = {"tensor=4"};
    request.prompt = "1k";
    request.output = "100";
    request.batch = "16";
    request.emit = "sglang";
    const auto response = handle(request, Format::text);
    REQUIRE_MESSAGE(response, response.error().message);
    const std::string& text = response->out;
    CHECK(text.find("--pd-disaggregation") != std::string::npos);
    const std::size_t prefill = text.find("--disaggregation-mode prefill");
    const std::size_t decode = text.find("--disaggregation-mode decode");
    REQUIRE(prefill < decode);
    CHECK(text.find("--tp-size 4") < prefill);
    CHECK(text.find("--tp-size 2") > prefill);
    CHECK(text.find("--max-running-requests 16") > prefill);
    // either is read as a server of its own
    const std::string second = text.substr(text.find("servers that decode"));
    ServeRequest read;
    read.config = request.config;
    read.machines = request.machines;
    read.plan_from = LaunchFile{"sglang", {"decode.sh", second.substr(second.find('\n'))}};
    CHECK(answer_of(handle(read, Format::json))["batch"] == 16);
}
