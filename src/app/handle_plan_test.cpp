#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "app/plan_question.hpp"
#include "app/request.hpp"

using namespace roofline::core;

namespace {

PlanRequest small() {
    PlanRequest request;
    request.train.config = {"llama-3.1-8b", ""};
    request.train.machines = {{"h100-sxm:8", {}}};
    request.train.batch_tokens = "32Ki";
    request.train.sequence = "4096";
    request.train.mesh = {"data=1"};
    request.without = {"sequence,cp", "pipeline"};
    request.train.remat = "full";
    request.train.microbatches = "1";
    return request;
}

Error refused(const PlanRequest& request) {
    const auto response = handle(request, Format::text);
    REQUIRE_FALSE(response);
    return response.error();
}

}  // namespace

TEST_CASE("the answer of a search has the best plan, the others, and what became of all of them") {
    PlanRequest request = small();
    request.clock = [] { return 1.0; };
    const auto response = handle(request, Format::json);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    CHECK(response->exit_code == 0);
    const auto json = nlohmann::json::parse(response->out, nullptr, false);
    // fsdp and tensor share 8 chips: 1 x 8, 2 x 4, 4 x 2, 8 x 1
    CHECK(json["searched"] == 4);
    CHECK(json["priced"].get<int>() + json["rejected"]["memory"].get<int>() + json["rejected"]["bound"].get<int>() ==
          4);
    CHECK(json["search_s"] == 0);
    REQUIRE(!json["plans"].empty());
    CHECK(json["plans"][0]["plan"] == json["best"]["plan"]);
    CHECK(json["plans"][0]["step"]["expected_s"] == json["best"]["step"]["expected_s"]);
    CHECK(json["plans"][0]["sure"].is_null());
    for (std::size_t i = 1; i < json["plans"].size(); ++i) {
        CHECK(json["plans"][i]["step"]["expected_s"] >= json["plans"][i - 1]["step"]["expected_s"]);
        CHECK(json["plans"][i]["sure"] >= 0.5);
    }
    // the best plan alone has the same answer
    TrainRequest alone = request.train;
    const auto& plan = json["best"]["plan"];
    alone.mesh = {"fsdp=" + plan["fsdp"].dump() + ",tensor=" + plan["tensor"].dump()};
    const auto single = handle(alone, Format::json);
    REQUIRE(single);
    CHECK(nlohmann::json::parse(single->out)["step"] == json["best"]["step"]);
    // matmuls take most of the time, so more FLOP/s shorten it most
    CHECK(json["elasticities"][1]["path"] == "matmul.bf16");
    CHECK(json["elasticities"][1]["value"] < -0.2);
    CHECK(json["elasticities"][1]["value"] > -1);
    for (const Format format : {Format::text, Format::csv, Format::markdown}) CHECK(handle(request, format));
}

TEST_CASE("a job that fits nowhere names the nearest plan, or what its weights take") {
    PlanRequest request = small();
    request.train.config = {"llama-3.1-70b", ""};
    // 70.55 G parameters with gradients in bf16 and moments in f32, 12 bytes each: 106 GB per chip of 86
    const auto response = handle(request, Format::json);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    CHECK(response->exit_code == 1);
    const auto json = nlohmann::json::parse(response->out, nullptr, false);
    CHECK(json["best"].is_null());
    CHECK(json["nearest"]["fits"] == false);
    request.train.machines = {{"h100-sxm:4", {}}};
    request.train.mesh.clear();
    CHECK(refused(request).code == "no_fit");
    CHECK(refused(request).hint.find("chips hold them") != std::string::npos);
}

TEST_CASE("searches that cannot be are refused") {
    PlanRequest request = small();
    request.train.batch_tokens = "";
    CHECK(refused(request).code == "no_batch");
    request = small();
    request.train.batch_tokens = "5000";
    CHECK(refused(request).hint == "use 4096 or 8192 tokens");
    request = small();
    request.train.mesh = {"tensor=3"};
    CHECK(refused(request).code == "bad_plan");
    request.train.mesh = {"tensor=2,tensor=4"};
    CHECK(refused(request).message.find("twice") != std::string::npos);
    request.train.mesh = {"tensr=2"};
    CHECK(refused(request).hint == "did you mean `tensor`?");
    request.train.mesh = {"pipeline=2"};
    CHECK(refused(request).message.find("left out by --without") != std::string::npos);
    request = small();
    request.without = {"speed"};
    CHECK(refused(request).code == "unknown_axis");
    request = small();
    request.train.zero = "3";
    CHECK(refused(request).code == "bad_plan");
    request = small();
    request.train.microbatches = "7";
    CHECK(refused(request).code == "no_plan");
    request = small();
    request.train.machines.clear();
    CHECK(refused(request).code == "no_machine");
}

TEST_CASE("a search assumes the framework that is named, which the best plan's answer has") {
    PlanRequest request = small();
    request.train.remat.clear();
    request.train.framework.name = "torchtitan";
    const auto response = handle(request, Format::json);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    const auto json = nlohmann::json::parse(response->out, nullptr, false);
    CHECK(json["best"]["framework"]["name"] == "torchtitan");
    const auto alone = [&](const std::string& remat) {
        TrainRequest train = request.train;
        train.mesh.clear();
        for (const auto& [axis, degree] : json["best"]["plan"].items()) {
            const bool is_axis = axis == "fsdp" || axis == "tensor" || axis == "data";
            if (is_axis) train.mesh.push_back(axis + "=" + std::to_string(degree.get<int>()));
        }
        train.remat = remat;
        return nlohmann::json::parse(handle(train, Format::json)->out, nullptr, false);
    };
    // torchtitan's selective recomputation is among the plans
    CHECK(plan_question(request)->space.remat == std::vector<Remat>{Remat::none, Remat::alternate, Remat::full});
    CHECK(json["best"]["step"] == alone(json["best"]["plan"]["remat"])["step"]);
    CHECK(alone("selective")["plan"]["remat"] == "alternate");
}
