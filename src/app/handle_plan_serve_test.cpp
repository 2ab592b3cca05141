#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/plan_command.hpp"
#include "app/request.hpp"
#include "app/serving_plan_question.hpp"
#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

ServePlanRequest llama_on(std::initializer_list<const char*> slices) {
    ServePlanRequest request;
    request.serve.config = {"llama-3.1-8b", ""};
    for (const char* slice : slices) request.serve.machines.push_back({slice, {}});
    request.serve.prompt = "1k";
    request.serve.output = "100";
    request.serve.tpot = "15ms";
    return request;
}

Response planned(const ServePlanRequest& request, Format format) {
    auto response = handle(request, format);
    REQUIRE_MESSAGE(response, response.error().message);
    return std::move(*response);
}

nlohmann::json planned_json(const ServePlanRequest& request) {
    return nlohmann::json::parse(planned(request, Format::json).out);
}

std::string code_of(const ServePlanRequest& request) {
    const auto response = handle(request, Format::text);
    return response ? "" : response.error().code;
}

}  // namespace

TEST_CASE("the command of the best servers answers with their figures") {
    for (const char* kind : {"together", "apart", "rate"}) {
        ServePlanRequest request = llama_on({"h100-sxm:4"});
        request.aggregated = std::string(kind) != "apart";
        request.serve.disaggregated = !request.aggregated;
        if (std::string(kind) == "rate") {
            request.serve.rate = "50";
            request.serve.ttft = "1s";
        }
        const auto json = planned_json(request);
        // the request that the command is made from; its words are those of the command line
        auto jobs = serving_plan_jobs(request);
        REQUIRE(jobs);
        auto search = serving_plan_question(jobs->front());
        REQUIRE(search);
        auto answer = search_serving(*search, std::make_shared<Calibrations>(Calibrations::built_in()));
        REQUIRE(answer);
        const ServeRequest alone = with_best(jobs->front(), *search, *answer);
        const std::string command = fmt::format("{}", fmt::join(serve_command(alone), " "));
        CHECK(json["command"] == command);
        auto served = handle(alone, Format::json);
        REQUIRE_MESSAGE(served, served.error().message);
        const auto load = nlohmann::json::parse(served->out)["load"];
        CHECK(load["tokens_per_s"].get<double>() == approx(json["set_up"]["tokens_per_s"].get<double>()));
        CHECK(load["ttft_s"]["p99"].get<double>() == approx(json["set_up"]["ttft_s"]["p99"].get<double>()));
        CHECK(load["tpot_s"]["mean"].get<double>() == approx(json["set_up"]["tpot_s"]["mean"].get<double>()));
        CHECK(json["best"]["load"] == load);
        CHECK(json["set_up"]["tpot_s"]["p99"].get<double>() <= 0.015);
    }
}

TEST_CASE("machines side by side say what each says alone, and which is the best in what") {
    const auto both = planned_json(llama_on({"h100-sxm:2", "h200-sxm:2"}));
    REQUIRE(both["machines"].size() == 2);
    const auto alone = planned_json(llama_on({"h200-sxm:2"}));
    CHECK(both["machines"][1]["set_up"] == alone["set_up"]);
    CHECK(both["machines"][1]["frontier"] == alone["frontier"]);
    const std::string text = planned(llama_on({"h100-sxm:2", "h200-sxm:2"}), Format::text).out;
    for (const char* line : {"most tokens/s per chip", "fewest USD per token", "smallest set-up"}) {
        CHECK(text.find(line) != std::string::npos);
    }
    // a machine that fails does not hide the other
    const Response one = planned(llama_on({"h100-sxm:2", "h100-sxm:2x2x2"}), Format::text);
    CHECK(one.beside.size() == 1);
}

TEST_CASE("listed dtypes are searched, and the command names the one that was chosen") {
    ServePlanRequest request = llama_on({"h100-sxm:1"});
    request.aggregated = true;
    const double usual = planned_json(request)["set_up"]["tokens_per_s"].get<double>();
    request.serve.weights = "bf16,fp8";
    const auto json = planned_json(request);
    CHECK(json["set_up"]["weights"] == "fp8");
    CHECK(json["command"].get<std::string>().find("--weights fp8") != std::string::npos);
    CHECK(json["set_up"]["tokens_per_s"].get<double>() > usual);
}

TEST_CASE("fixed degrees and axes that are not used hold") {
    ServePlanRequest request = llama_on({"h100-sxm:4"});
    request.aggregated = true;
    request.serve.mesh = {"tensor=2"};
    request.without = {"pipeline"};
    const auto json = planned_json(request);
    for (const auto& each : json["frontier"]) {
        CHECK(each["decode"]["plan"]["tensor"] == 2);
        CHECK(each["chips"] == 2);
    }
}

TEST_CASE("the exit status is 1 where nothing meets the targets, and the text says what would") {
    ServePlanRequest request = llama_on({"h100-sxm:2"});
    request.serve.tpot = "100us";
    const Response response = planned(request, Format::text);
    CHECK(response.exit_code == 1);
    CHECK(response.out.find("it would with --tpot") != std::string::npos);
    const auto json = planned_json(request);
    CHECK(json["best"].is_null());
    CHECK(json["nearest"].is_object());
}

TEST_CASE("tables have a line for each set-up of the frontier, and the picture its curve") {
    ServePlanRequest request = llama_on({"h100-sxm:2"});
    request.serve.plot = true;
    const auto points = planned_json(request)["frontier"].size();
    const Response csv = planned(request, Format::csv);
    CHECK(static_cast<std::size_t>(std::count(csv.out.begin(), csv.out.end(), '\n')) == points + 1);
    CHECK(csv.svg.find("tokens/s per user") != std::string::npos);
}

TEST_CASE("each point of a sweep is the search with that figure, and so are both sides of a flip") {
    ServePlanRequest request = llama_on({"h100-sxm:2"});
    request.serve.sweeps = {"hbm.bandwidth=1TB/s,4TB/s"};
    const auto sweep = planned_json(request)["figure_sweep"];
    const auto with = [](double bandwidth) {
        ServePlanRequest one = llama_on({"h100-sxm:2"});
        one.serve.sets = {fmt::format("hbm.bandwidth={:.9g}B/s", bandwidth)};
        return planned_json(one)["set_up"];
    };
    REQUIRE(sweep["points"].size() == 2);
    for (const auto& point : sweep["points"]) {
        const auto alone = with(point["at"]["hbm.bandwidth"]);
        CHECK(point["plan"] == alone["set_up"]);
        CHECK(point["requests"] == alone["concurrency"]);
        CHECK(point["rate"].get<double>() == approx(alone["tokens_per_s_per_chip"].get<double>()));
        CHECK(point["expected_s"].get<double>() == approx(alone["tpot_s"]["mean"].get<double>()));
    }
    int flips = 0;
    for (const auto& flip : sweep["flips"]) {
        if (flip["of"] != "plan") continue;
        ++flips;
        const double at = flip["at"]["hbm.bandwidth"];
        CHECK(with(at)["set_up"] == flip["after"]);
        CHECK(with(at / 1.012)["set_up"] == flip["before"]);
    }
    CHECK(flips > 0);
    request.serve.sweeps = {"batch=1,2"};
    CHECK(code_of(request) == "unknown_dimension");
    request.serve.sweeps = {"prompt=1k,2k"};
    request.serve.prompt.clear();
    request.serve.plot = true;
    CHECK(planned(request, Format::text).svg.find("prompt") != std::string::npos);
}

TEST_CASE("without a plan and a number of requests serve answers for the best set-up, and says its command") {
    for (const char* slice : {"h100-sxm:1", "h100-sxm:4"}) {
        const ServePlanRequest request = llama_on({slice});
        const auto best = planned_json(request);
        const auto response = handle(request.serve, Format::json);
        REQUIRE_MESSAGE(response, response.error().message);
        const auto served = nlohmann::json::parse(response->out);
        CHECK(served["searched"]["command"] == best["command"]);
        CHECK(served["searched"]["set_up"] == best["set_up"]["set_up"]);
        CHECK(served["searched"]["replicas"] == best["replicas"]);
        CHECK(served["load"] == best["best"]["load"]);
        CHECK(served["plan"]["chosen"] == true);
        // a batch is a limit: the plan on these chips that has the fastest tokens
        ServeRequest batch = request.serve;
        batch.batch = "8";
        const auto of_batch = handle(batch, Format::json);
        REQUIRE(of_batch);
        const auto answer = nlohmann::json::parse(of_batch->out);
        CHECK(answer["searched"].is_null());
        CHECK(answer["batch"] == 8);
    }
}

TEST_CASE("questions that cannot be meant are refused") {
    const auto with = [](const auto& change) {
        ServePlanRequest request = llama_on({"h100-sxm:2"});
        change(request);
        return code_of(request);
    };
    CHECK(with([](auto& request) { request.objective = "speed"; }) != "");
    CHECK(with([](auto& request) { request.objective = "chips"; }) == "bad_request");
    CHECK(with([](auto& request) { request.percentile = "95"; }) != "");
    CHECK(with([](auto& request) { request.serve.tpot = "0ms"; }) != "");
    CHECK(with([](auto& request) { request.serve.weights = "bf16,bf17"; }) != "");
    for (const char* const file : {"Q4_K_M", "q4_0", "IQ1_S", "fp8,F16"}) {
        CHECK(with([&](auto& request) { request.serve.weights = file; }) == "bad_dtype");
    }
    CHECK(with([](auto& request) { request.serve.batch = "4"; }) == "bad_request");
    CHECK(with([](auto& request) { request.serve.mesh = {"tensor=16"}; }) == "no_plan");
    CHECK(with([](auto& request) { request.serve.prefill_mesh = {"tensor=2"}; }) == "bad_request");
    CHECK(with([](auto& request) { request.serve.machines.front().name = "h100-sxm"; }) == "no_slice");
    CHECK(with([](auto& request) { request.chips = "4"; }) == "bad_request");
    CHECK(with([](auto& request) {
              request.aggregated = true;
              request.serve.disaggregated = true;
          }) == "bad_request");
    CHECK(with([](auto& request) {
              request.objective = "cost";
              request.serve.rate = "5";
          }) == "bad_request");
}

TEST_CASE("the best set-up of servers is emitted as what starts it") {
    ServePlanRequest request = llama_on({"h100-sxm:4"});
    request.aggregated = true;
    const auto best = planned_json(request);
    request.serve.emit = "trtllm";
    const Response response = planned(request, Format::text);
    CHECK(response.out.starts_with("# TensorRT-LLM "));
    const auto json = planned_json(request);
    CHECK(json["emitted"]["framework"] == "trtllm");
    CHECK(json["emitted"]["text"] == response.out);
    CHECK(json["command"] == best["command"]);
    request.serve.tpot = "1us";
    const Response nearest = planned(request, Format::text);
    CHECK(nearest.exit_code == 1);
    CHECK(nearest.out.starts_with("# no set-up meets the targets"));
    request.serve.emit = "megatron";
    CHECK(code_of(request) == "wrong_framework");
    request = llama_on({"h100-sxm:4", "h200:4"});
    request.serve.emit = "vllm";
    CHECK(code_of(request) == "bad_request");
}
