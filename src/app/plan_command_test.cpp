#include "app/plan_command.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "app/plan_question.hpp"
#include "app/small_search_test.hpp"

using namespace roofline::core;

namespace {

std::vector<std::string> command_of(const PlanRequest& request) {
    const auto answer = plan_answer_of(request);
    REQUIRE_MESSAGE(answer, to_text(answer.error()));
    const auto jobs = plan_jobs_of(request);
    REQUIRE(jobs);
    return plan_command(jobs->at(answer->chosen).train, answer->plan.best);
}

// The value of an option; "" if the command does not have it.
std::string option_in(const std::vector<std::string>& command, const std::string& option) {
    for (const std::string& word : command) {
        if (word.starts_with(option + " ")) return word.substr(option.size() + 1);
    }
    return "";
}

}  // namespace

TEST_CASE("the command of the best plan has the options of the question, and prices the same step") {
    PlanRequest request = small_search();
    request.train.mesh = {"tensor=4"};
    request.train.microbatches.clear();
    request.train.optimizer = "adam,moments=bf16";
    request.train.sets = {"hbm.bandwidth=3TB/s"};
    request.train.overlap = "tensor,data";
    request.train.tokens = "1T";
    request.without = {"sequence,context"};
    const auto command = command_of(request);
    CHECK(command.front() == "roofline train llama-3.1-8b");
    CHECK(option_in(command, "--on") == "h100-sxm:8");
    CHECK(option_in(command, "--batch-tokens") == "32768");
    CHECK(option_in(command, "--optimizer") == "adam,moments=bf16");
    CHECK(option_in(command, "--set") == "hbm.bandwidth=3TB/s");
    CHECK(option_in(command, "--tokens") == "1T");
    CHECK(option_in(command, "--framework").empty());

    TrainRequest alone;
    alone.config = request.train.config;
    alone.machines = {{option_in(command, "--on"), {}}};
    alone.batch_tokens = option_in(command, "--batch-tokens");
    alone.sequence = option_in(command, "--seq");
    alone.mesh = {option_in(command, "--mesh")};
    alone.zero = option_in(command, "--zero");
    alone.microbatches = option_in(command, "--microbatches");
    alone.schedule = option_in(command, "--schedule");
    alone.remat = option_in(command, "--remat");
    alone.optimizer = option_in(command, "--optimizer");
    alone.overlap = option_in(command, "--overlap");
    alone.sets = {option_in(command, "--set")};
    alone.tokens = option_in(command, "--tokens");
    const auto priced = handle(alone, Format::json);
    REQUIRE_MESSAGE(priced, to_text(priced.error()));
    const auto best = nlohmann::json::parse(handle(request, Format::json)->out)["best"];
    const auto json = nlohmann::json::parse(priced->out);
    for (const char* key : {"plan", "step", "memory_bytes", "train_s", "usd"}) CHECK(json[key] == best[key]);
}

TEST_CASE("the command names the slice of the best job, and quotes what a shell would read otherwise") {
    PlanRequest request = small_search();
    request.train.machines = {{"h100-sxm", {}}};
    request.train.mesh = {"tensor=4 on nvlink"};
    request.chips = "4..8*2";
    request.train.batch_tokens = "32Ki,64Ki";
    request.train.config = {"llama-3.1-8b", ""};
    request.train.sets = {"hbm.bandwidth=*2"};
    request.train.calibration.none = true;
    request.train.products = "bf16,fp8";
    request.train.optimizer = "adam,moments=bf16,adam";
    const auto answer = plan_answer_of(request);
    REQUIRE_MESSAGE(answer, to_text(answer.error()));
    request.train.software = "it's new";
    const auto jobs = plan_jobs_of(request);
    REQUIRE(jobs);
    const auto command = plan_command(jobs->at(answer->chosen).train, answer->plan.best);
    CHECK(option_in(command, "--products") == "fp8");
    CHECK(option_in(command, "--optimizer") == "adam,moments=bf16");
    CHECK(option_in(command, "--on") == "h100-sxm:8");
    CHECK(option_in(command, "--set") == "'hbm.bandwidth=*2'");
    CHECK(option_in(command, "--software") == "'it'\\''s new'");
    CHECK(option_in(command, "--calibration") == "none");
}

TEST_CASE("a single chip is a plan of its own") {
    PlanRequest request = small_search();
    request.train.machines = {{"b200-sxm:1", {}}};
    request.train.batch_tokens = "4096";
    request.train.optimizer = "sgd";
    const auto command = command_of(request);
    CHECK(option_in(command, "--mesh") == "data=1");
}
