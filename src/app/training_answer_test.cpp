#include "app/training_answer.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

using namespace roofline::core;

namespace {

// On two H200 all of the plans fit, and few are to be searched.
TrainRequest without_mesh(const char* slice = "h200-sxm:2") {
    TrainRequest request;
    request.config = {"llama-3.1-8b", ""};
    request.machines = {{slice, {}}};
    request.sequence = "2Ki";
    request.batch_tokens = "8Ki";
    request.remat = "full";
    return request;
}

Response response_of(const TrainRequest& request, Format format = Format::json) {
    auto response = handle(request, format);
    REQUIRE_MESSAGE(response, response.error().message);
    return std::move(*response);
}

nlohmann::json answer_of(const TrainRequest& request) { return nlohmann::json::parse(response_of(request).out); }

}  // namespace

TEST_CASE("without a plan, training takes the best one of `roofline plan train`") {
    TrainRequest request = without_mesh();
    request.search.clock = [seconds = 0.0]() mutable { return seconds += 2; };
    const auto found = answer_of(request);
    CHECK(found["search_s"] == 2);
    PlanRequest plan;
    plan.train = request;
    const auto searched = nlohmann::json::parse(handle(plan, Format::json)->out);
    CHECK(found["searched"] == searched["searched"]);
    REQUIRE(found["plans"].size() == searched["plans"].size());
    for (std::size_t i = 0; i < found["plans"].size(); ++i) {
        auto expected = searched["plans"][i];
        expected.erase("sure");
        CHECK(found["plans"][i] == expected);
    }
    CHECK(found["plan"] == found["plans"][0]["plan"]);
    CHECK(found["notes"].dump().find("this is the fastest of") != std::string::npos);
}

TEST_CASE("no plan that is written out by hand is faster than the one that training takes") {
    TrainRequest request = without_mesh("h200-sxm:4");
    request.microbatches = "1";
    const double best_s = answer_of(request)["step_s"].get<double>();
    for (const char* mesh : {"fsdp=4", "data=4", "tensor=4", "fsdp=2,tensor=2", "data=2,fsdp=2", "data=2,tensor=2",
                             "fsdp=2,context=2", "data=2,sequence=2", "pipeline=2,fsdp=2", "pipeline=4"}) {
        TrainRequest given = request;
        given.mesh = {mesh};
        const auto answer = answer_of(given);
        CAPTURE(mesh);
        CHECK(answer["searched"] == 0);
        CHECK(answer["plans"].empty());
        CHECK(answer["search_s"].is_null());
        if (answer["fits"] == true) CHECK(answer["step_s"].get<double>() >= best_s);
    }
}

TEST_CASE("what is said of the plan is not searched") {
    TrainRequest request = without_mesh();
    request.microbatches = "2";
    const auto answer = answer_of(request);
    CHECK(answer["plan"]["remat"] == "full");
    CHECK(answer["plan"]["microbatches"] == 2);
    request.zero = "3";
    const auto no_stage = handle(request, Format::json);
    REQUIRE_FALSE(no_stage);
    CHECK(no_stage.error().hint.find("fsdp") != std::string::npos);
    request.zero.clear();
    request.overlap = "expert";
    const auto no_experts = handle(request, Format::json);
    REQUIRE_FALSE(no_experts);
    CHECK(no_experts.error().message.find("expert") != std::string::npos);
    request.overlap.clear();
    request.batch_tokens = "8Ki..16Ki*2";
    CHECK_FALSE(handle(request, Format::json));
}

TEST_CASE("an assumed utilization needs no plan, so none is searched") {
    TrainRequest request = without_mesh();
    request.mfu = 0.4;
    const auto answer = answer_of(request);
    CHECK(answer["searched"] == 0);
    CHECK(answer["plan"]["fsdp"] == 2);
}

TEST_CASE("where no plan fits, training says so and shows the one that is nearest") {
    // 8.03 G parameters take 16 GB, as much again for gradients, and 64 GB for moments; a chip has 80 GiB.
    const Response one = response_of(without_mesh("h100-sxm:1"));
    CHECK(one.exit_code == 1);
    const auto alone = nlohmann::json::parse(one.out);
    CHECK(alone["fits"] == false);
    CHECK(alone["notes"].dump().find("fit") != std::string::npos);
    // 405 G parameters take 4.9 TB, of which no chip of eight can hold its part: no plan is priced
    TrainRequest request = without_mesh("h100-sxm:8");
    request.config = {"llama-3.1-405b", ""};
    request.batch_tokens = "16Ki";
    const Response eight = response_of(request);
    CHECK(eight.exit_code == 1);
    const auto large = nlohmann::json::parse(eight.out);
    CHECK(large["plan"]["fsdp"] == 8);
    CHECK(large["fits"] == false);
    CHECK(large["notes"].dump().find("nothing fits: weights, gradients and optimizer states alone take") !=
          std::string::npos);
}

TEST_CASE("an interrupted search answers with the best plan so far, and says that it is no more than that") {
    TrainRequest request = without_mesh();
    request.search.watch = [](const SearchProgress& at) { return at.looked_at < 5; };
    const Response response = response_of(request);
    CHECK(response.exit_code == interrupted_exit);
    const auto answer = nlohmann::json::parse(response.out);
    CHECK(answer["notes"].dump().find("because the search was interrupted") != std::string::npos);
    request.machines.push_back({"b200-sxm:2", {}});
    const Response stopped = response_of(request);
    CHECK(stopped.exit_code == interrupted_exit);
    request.search.watch = {};
    const Response both = response_of(request, Format::text);
    CHECK(both.exit_code == 0);
    CHECK(both.out.find("this is the fastest of") != std::string::npos);
}
