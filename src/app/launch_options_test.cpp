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
