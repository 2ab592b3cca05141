#include "app/request.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/op_answers.hpp"
#include "base/approx_test.hpp"
#include "predict/compare/fit_tables.hpp"
#include "predict/compare/measured_serving.hpp"

using namespace roofline::core;

namespace {

std::vector<TableText> tables_of(const FitRequest& request) {
    std::vector<TableText> tables;
    for (const NamedText& file : request.tables) tables.push_back({file.name, file.text});
    return tables;
}

constexpr const char* head =
    "source,model,accelerator,n_accel,tp,dtype,mode,input_len,output_len,batch_or_concurrency,ttft_s,tpot_s,software\n";

/// Measurements of a server whose step takes two milliseconds longer than its kernels.
std::string table(const char* software) {
    std::string text = head;
    for (const int batch : {1, 2, 4, 8, 16, 32, 48, 64}) {
        text += fmt::format("made up,Llama-3.1-8B,h100_sxm,1,1,bf16,agg,512,512,{},0.05,{},{}\n", batch,
                            0.0085 + 40e-6 * batch, software);
    }
    return text;
}

FitRequest request_of(std::string text) {
    FitRequest request;
    request.tables = {{"servings.csv", std::move(text)}};
    request.output = "servers.toml";
    request.date = "2026-01-31";
    return request;
}

}  // namespace

TEST_CASE("a table of served models gives a file of servers") {
    const FitRequest request = request_of(table("vllm 0.14.0"));
    REQUIRE(are_serving_tables(tables_of(request)));
    const auto response = handle(request, Format::text);
    REQUIRE_MESSAGE(response, response.error().message);
    CHECK(response->exit_code == 0);
    REQUIRE(response->files.size() == 1);
    CHECK(response->files.front().name == "servers.toml");
    const auto server_models = parse_server_models(response->files.front().text, "servers.toml");
    REQUIRE_MESSAGE(server_models, server_models.error().message);
    CHECK(server_models->fitted == "2026-01-31");
    REQUIRE(server_models->servers.size() == 1);
    CHECK(server_models->servers.front().software == "vllm");
    CHECK(server_models->servers.front().rows == 8);
    CHECK(server_models->servers.front().error_fitted < 0.1);
    CHECK(server_models->servers.front().error_held_out == approx(0.4));  // of each model on its own
    CHECK(response->out.find("vllm: 8 rows of llama-3.1-8b") != std::string::npos);
}

TEST_CASE("a file of servers takes the place of the constants that come with the program") {
    const auto fitted = handle(request_of(table("my-server 1.0")), Format::text);
    REQUIRE(fitted);
    REQUIRE(fitted->files.size() == 1);
    ServeRequest serve;
    serve.config = {"llama-3.1-8b", ""};
    serve.machines = {{"h100-sxm:1", {}}};
    serve.prompt = "512";
    serve.output = "512";
    serve.batch = "32";
    serve.software = "my-server";
    const auto token_s = [&]() -> double {
        const auto answer = handle(serve, Format::json);
        REQUIRE_MESSAGE(answer, answer.error().message);
        const auto json = nlohmann::json::parse(answer->out);
        CHECK(json["under_load"]["software"] == "my-server");
        return json["under_load"]["tpot_s"].get<double>();
    };
    serve.calibration.files = {{"servers.toml", fitted->files.front().text}};
    CHECK(token_s() == approx(0.0085 + 40e-6 * 32).epsilon(0.1));  // the table's value for 32 sequences
    OpRequest op;
    op.program = "B=8, D=8\nA : bf16[B, D]\nC : bf16[B, D] = exp(A)";
    op.machines = serve.machines;
    op.calibration = serve.calibration;
    const auto refused = op_answers(op, {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "servers.toml contains server models, but this command serves no model");
}

TEST_CASE("what a fit of servers cannot use it says") {
    auto few =
        handle(request_of(std::string(head) + "made up,Llama-3.1-8B,h100_sxm,1,1,bf16,agg,512,512,1,0.05,0.01,vllm 1\n"
                                              "made up,nobody-1b,h100_sxm,1,1,bf16,agg,512,512,1,0.05,0.01,vllm 1\n"),
               Format::text);
    REQUIRE(few);
    CHECK(few->exit_code == 1);
    CHECK(few->files.empty());
    CHECK(few->out.find("servers.toml") == std::string::npos);
    CHECK(few->out.find("the model `nobody-1b` is not known") != std::string::npos);
    CHECK(handle(request_of(table("")), Format::text)->out.find("which server it was") != std::string::npos);
    FitRequest folder = request_of(table("vllm 0.14.0"));
    folder.output = "calibration";
    const auto refused = handle(folder, Format::text);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "all server models are written to one file");
    FitRequest other = request_of("m,n,k\n1,2,3\n");
    CHECK_FALSE(are_serving_tables(tables_of(other)));
    other.tables.clear();
    CHECK_FALSE(are_serving_tables(tables_of(other)));
    CHECK(handle(request_of(table("vllm 0.14.0")), Format::json)->out.find("\"step_s\"") != std::string::npos);
    CHECK(handle(request_of(table("vllm 0.14.0")), Format::csv)->out.starts_with("software,rows"));
}
