#include "calibrate/server/server_model.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

constexpr const char* file = R"(fitted = "2026-01-31"

[[server]]
software = "one"
rows = 10
models = ["a", "b"]
machines = ["m"]
sources = ["s"]
error_fitted = 0.05
error_held_out = 0.1
kernels = 0.8
step_us = 500
sequence_us = 20
launch_us = 40

[[server]]
software = "two 1.2"
rows = 30
models = ["a"]
machines = ["m"]
sources = ["s"]
error_fitted = 0.05
error_held_out = 0.1
)";

}  // namespace

TEST_CASE("a step is a share of its kernels and the host's part") {
    const ServerModel costs{0.8, 500e-6, 20e-6, 40e-6};
    CHECK(step_seconds(costs, 10e-3, 32) == approx(8e-3 + 0.5e-3 + 0.64e-3));
    CHECK(step_seconds({}, 10e-3, 32) == approx(10e-3));
    // prefill takes the longer of its kernels and their launches
    CHECK(prompt_seconds(costs, 10e-3, 100) == approx(10e-3));
    CHECK(prompt_seconds(costs, 10e-3, 1000) == approx(40e-3));
}

TEST_CASE("a file of servers is read as it is written") {
    const auto server_models = parse_server_models(file, "servers.toml");
    REQUIRE_MESSAGE(server_models, server_models.error().message);
    CHECK(server_models->fitted == "2026-01-31");
    REQUIRE(server_models->servers.size() == 2);
    CHECK(server_models->servers[0].costs == ServerModel{0.8, 500e-6, 20e-6, 40e-6});
    CHECK(server_models->servers[1].costs == ServerModel{});
    const auto again = parse_server_models(server_models_text(*server_models), "servers.toml");
    REQUIRE_MESSAGE(again, again.error().message);
    CHECK(*again == *server_models);
}

TEST_CASE("servers are found by their library, or the one with the most rows") {
    const auto server_models = parse_server_models(file, "servers.toml");
    REQUIRE(server_models);
    CHECK(server_models->find("one 0.9")->software == "one");
    CHECK(server_models->find("two-1.2")->software == "two 1.2");
    CHECK(server_models->usual("NVIDIA")->software == "two 1.2");
    CHECK(server_models->find_or_usual("one", "NVIDIA")->software == "one");
    CHECK(server_models->find_or_usual("three", "NVIDIA")->software == "two 1.2");
    CHECK(server_models->find("three") == nullptr);
    CHECK(server_models->find("") == nullptr);
    CHECK(ServerModels{}.usual("NVIDIA") == nullptr);
}

TEST_CASE("without a name a server is one that runs on the machine") {
    ServerModels models;
    models.servers.push_back({"vllm", {}, 10, {}, {}});
    models.servers.push_back({"sglang", {}, 20, {}, {}});
    models.servers.push_back({"trtllm", {}, 30, {}, {}});
    // TensorRT-LLM is NVIDIA's own; vLLM also runs on TPUs, Gaudi and Trainium
    CHECK(models.usual("NVIDIA")->software == "trtllm");
    CHECK(models.usual("AMD")->software == "sglang");
    CHECK(models.usual("Google")->software == "vllm");
    CHECK(models.usual("Intel")->software == "vllm");
    CHECK(models.usual("AWS")->software == "vllm");
    CHECK(models.usual("")->software == "trtllm");
    CHECK(models.find_or_usual("trtllm", "AMD")->software == "trtllm");
}

TEST_CASE("files of servers are read strictly") {
    const auto error = [](std::string_view toml) {
        const auto server_models = parse_server_models(toml, "servers.toml");
        return server_models ? "" : server_models.error().message;
    };
    CHECK(error("").empty());
    CHECK(error("[[server]]\nsoftware = \"one\"\n").find("error_held_out") != std::string::npos);
    CHECK(error("[[server]]\nerror_held_out = 0.1\n").find("software") != std::string::npos);
    CHECK_FALSE(error("[[server]]\nsoftware = \"one\"\nerror_held_out = 0.1\nspeed = 1\n").empty());
    CHECK_FALSE(error("[[server]]\nsoftware = \"one\"\nerror_held_out = 0.1\nstep_us = -1\n").empty());
    CHECK_FALSE(error("[[server]]\nsoftware = \"one\"\nerror_held_out = 0.1\nstep_us = [1, 2]\n").empty());
    CHECK_FALSE(error("[[server\n").empty());
}

TEST_CASE("the servers that come with the program are read, and say how far off they are") {
    REQUIRE(built_in_servers().servers.size() >= 3);
    CHECK_FALSE(built_in_servers().fitted.empty());
    for (const CalibratedServer& each : built_in_servers().servers) {
        INFO(each.software);
        CHECK(each.rows >= 8);
        CHECK(each.error_held_out > 0);
        CHECK(each.costs.kernels > 0);
    }
    CHECK(built_in_servers().find("vllm 0.14") != nullptr);
}
