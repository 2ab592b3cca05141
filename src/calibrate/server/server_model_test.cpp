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
    CHECK(step_seconds(costs, {10e-3, 0}, 32) == approx(8e-3 + 0.5e-3 + 0.64e-3));
    // fused kernels may be faster than separate ones, but no faster than memory
    CHECK(step_seconds(costs, {10e-3, 9e-3}, 32) == approx(9e-3 + 0.5e-3 + 0.64e-3));
    CHECK(step_seconds({}, {10e-3, 0}, 32) == approx(10e-3));
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
    CHECK(server_models->find("one 0.9", "")->software == "one");
    CHECK(server_models->find("two-1.2", "")->software == "two 1.2");
    CHECK(server_models->find("", "")->software == "two 1.2");
    CHECK(server_models->find("three", "") == nullptr);
    CHECK(ServerModels{}.find("", "") == nullptr);
}

TEST_CASE("a server's parameters are those of the machine's platform, or state their error there") {
    const std::string text = std::string(file) + R"(
[[server]]
software = "one"
platform = "Google tpu"
rows = 9
error_fitted = 0.1
error_held_out = 0.2
kernels = 0.9

[[server]]
software = "three 2.0"
platform = "NVIDIA gpu"
rows = 20
error_fitted = 0.1
error_held_out = 0.15
ttft_error_held_out = 0.45

[[server]]
software = "four"
platform = "NVIDIA gpu"
rows = 40
error_fitted = 0.1
error_held_out = 0.5

[[elsewhere]]
software = "three"
platform = "AMD gpu"
rows = 5
models = ["a"]
error = 0.6
ttft_error = 0.7
)";
    const std::string only = text.substr(text.find("[[server]]\nsoftware = \"three"));
    const auto models = parse_server_models(text, "servers.toml");
    REQUIRE_MESSAGE(models, models.error().message);
    const auto again = parse_server_models(server_models_text(*models), "servers.toml");
    REQUIRE_MESSAGE(again, again.error().message);
    CHECK(*again == *models);
    // an entry without a platform is for any, and one of ten rows precedes one of nine
    CHECK(models->find("one", "Google tpu")->costs.kernels == 0.8);
    CHECK(models->find("one", "AMD gpu")->costs.kernels == 0.8);
    const auto fitted = parse_server_models(only, "servers.toml");
    REQUIRE_MESSAGE(fitted, fitted.error().message);
    // without a name, a library that was measured there precedes one with more measurements
    CHECK(fitted->find("", "NVIDIA gpu")->software == "four");
    CHECK(fitted->find("", "AMD gpu")->software == "three 2.0");
    CHECK(fitted->find("", "Google tpu")->software == "four");
    const CalibratedServer& three = *fitted->find("three", "AMD gpu");
    CHECK(fitted->errors(three, "NVIDIA gpu") == ServerErrors{0.15, 0.45});
    CHECK(fitted->errors(three, "AMD gpu") == ServerErrors{0.6, 0.7});
    CHECK(fitted->errors(three, "Google tpu") == ServerErrors{0.4, 0.45});
    CHECK(fitted->errors(*fitted->find("four", "AMD gpu"), "AMD gpu") == ServerErrors{0.5, 0.4});
}

TEST_CASE("the default server of a machine was measured on its platform") {
    const ServerModels& servers = built_in_servers();
    CHECK(servers.find("", "Google tpu")->software == "sglang-jax");
    CHECK(servers.find("", "Intel asic")->software == "optimum-habana");
    CHECK(servers.find("", "AMD gpu")->software == "vllm");
    // nothing was timed on Trainium, which TensorRT-LLM, the library with the most measurements, does not run on
    CHECK(servers.find("", "AWS asic")->software.starts_with("vllm"));
    CHECK(servers.find("", "NVIDIA gpu")->software.starts_with("trtllm"));
    CHECK(servers.find("sglang-jax", "Google tpu")->costs != servers.find("sglang", "Google tpu")->costs);
    // SGLang on one MI300X was timed at 22.7 ms per token of a model that takes 5.35 with the kernels' times and the
    // constants of NVIDIA's machines
    CHECK(servers.errors(*servers.find("sglang 0.5.9", "AMD gpu"), "AMD gpu").tpot > 0.6);
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
    CHECK(error("[[elsewhere]]\nsoftware = \"one\"\nplatform = \"p\"\n").find("error") != std::string::npos);
    CHECK(error("[[elsewhere]]\nsoftware = \"one\"\nerror = 0.1\n").find("platform") != std::string::npos);
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
    CHECK(built_in_servers().find("vllm 0.14", "") != nullptr);
}
