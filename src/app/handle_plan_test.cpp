#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "app/plan_question.hpp"
#include "app/request.hpp"
#include "app/small_search_test.hpp"
#include "base/approx_test.hpp"
#include "predict/plan/plan.hpp"
#include "report/plot/svg_elements_test.hpp"

using namespace roofline::core;

namespace {

PlanRequest small() {
    PlanRequest request = small_search();
    request.train.mesh = {"data=1"};
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
    request.train.search.clock = [] { return 1.0; };
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
    PlanRequest overlapped = request;
    overlapped.train.overlap = "tensor";
    const auto with = handle(overlapped, Format::json);
    REQUIRE(with);
    CHECK(nlohmann::json::parse(with->out)["best"]["plan"]["overlap"] == nlohmann::json::array({"tensor"}));
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
    CHECK(json["command"].get<std::string>().starts_with("roofline train llama-3.1-8b --on h100-sxm:8 "));
    request.train.mesh = {"data=1,tensor=1"};
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
    // 12 bytes for each of 70.55 G parameters are 847 GB, more than nine and less than ten chips have: two nodes
    CHECK(refused(request).hint.find("they alone fit on 16 chips (8x2)") != std::string::npos);
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
    CHECK(refused(request).message == "--microbatches 7 excludes every plan");
    request = small();
    request.train.schedule = "zero-bubble";
    CHECK(refused(request).message == "--schedule is that of a pipeline, which --without leaves out");
    request.without = {"sequence,context"};
    request.train.mesh = {"pipeline=1"};
    CHECK(refused(request).message == "--schedule is that of a pipeline, which --mesh pipeline=1 leaves out");
    request = small();
    request.shown = "65";
    CHECK(refused(request).message == "--plans 65: at most 64 plans are shown");
    request.shown = "0";
    CHECK(refused(request).hint == "give 1 to 64; without the option there are 8");
    request = small();
    request.train.lora = "0";
    CHECK(refused(request).hint.find("a rank, for example 16") == 0);
    request = small();
    request.train.overlap = "expert";
    CHECK(refused(request).message == "--overlap expert: the model has no experts");
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
    CHECK(plan_question(request)->jobs.front().space.remat ==
          std::vector<Remat>{Remat::none, Remat::alternate, Remat::full});
    CHECK(json["best"]["step"] == alone(json["best"]["plan"]["remat"])["step"]);
    CHECK(alone("selective")["plan"]["remat"] == "alternate");
}

TEST_CASE("a framework's pipelines have its schedules alone, but for one that is asked for") {
    PlanRequest request = small();
    const auto schedules = [&] {
        const auto sized = with_sizes(plan_question(request)->jobs.front());
        REQUIRE(sized);
        return sized->space.schedules;
    };
    CHECK(schedules().size() == 3);
    request.train.framework.name = "nemo";
    CHECK(schedules() == std::vector<Schedule>{Schedule::one_f_one_b, Schedule::interleaved});
    request.train.framework.name = "torchtitan";
    CHECK(schedules().size() == 3);
    request.train.framework.name = "nemo";
    request.train.schedule = "zero-bubble";
    request.without = {"sequence,context"};
    CHECK(schedules() == std::vector<Schedule>{Schedule::zero_bubble});
}

TEST_CASE("ranges of chips and batches are searched, each with its best plan, and a front is drawn") {
    PlanRequest request = small();
    request.train.machines = {{"h100-sxm", {}}};
    request.chips = "4..8*2";
    request.train.batch_tokens = "32Ki..64Ki*2";
    request.train.tokens = "1G";
    request.front = "cost,time";
    request.plot = true;
    const auto response = handle(request, Format::json);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    const auto json = nlohmann::json::parse(response->out, nullptr, false);
    REQUIRE(json["jobs"].size() == 4);
    CHECK(json["jobs"][1]["machine"] == "h100-sxm5:4");
    CHECK(json["jobs"][1]["batch_tokens"] == 65536);
    CHECK(json["jobs"][2]["chips"] == 8);
    CHECK(json["for"] == "cost");
    CHECK(json["front_of"] == nlohmann::json({"cost", "time"}));
    REQUIRE(!json["frontier"].empty());
    CHECK(json["frontier"][0]["values"]["usd"] == json["best"]["usd"]);
    std::int64_t searched = 0;
    for (const auto& job : json["jobs"]) {
        searched += job["searched"].get<std::int64_t>();
        CHECK(job["values"]["usd"] >= json["best"]["usd"]);
        // what a chip takes at its rated 700 W
        CHECK(job["values"]["power_w"] == 700 * job["chips"].get<int>());
    }
    CHECK(json["searched"] == searched);
    CHECK_FALSE(SvgReader(response->svg).read().empty());
    CHECK(response->svg.find("cost of the run (USD)") != std::string::npos);
    request.train.mesh = {"data=1,tensor=1"};
    request.train.batch_tokens = "32Ki";
    for (const Format format : {Format::text, Format::csv, Format::markdown}) CHECK(handle(request, format));
}

TEST_CASE("a plan beyond the limits is the nearest, with what it exceeds") {
    PlanRequest request = small();
    request.train.tokens = "1T";
    request.days = "10";
    const auto response = handle(request, Format::json);
    REQUIRE(response);
    CHECK(response->exit_code == 1);
    const auto json = nlohmann::json::parse(response->out, nullptr, false);
    CHECK(json["best"].is_null());
    CHECK(json["exceeded"][0]["limit"] == "days");
    CHECK(json["exceeded"][0]["allowed"] == 10);
    CHECK(json["exceeded"][0]["value"].get<double>() * 86400 == approx(json["nearest"]["train_s"].get<double>()));
    CHECK(json["rejected"]["limit"].get<int>() > 0);
    CHECK(json["priced"] == 0);
    const auto text = handle(request, Format::text);
    REQUIRE(text);
    CHECK(text->out.find("No plan is within your limits") != std::string::npos);
    CHECK(text->out.find("--days ") != std::string::npos);
}

TEST_CASE("objectives, limits and ranges that cannot be are refused with a remedy") {
    const auto changed = [](auto change) {
        PlanRequest request = small();
        request.train.tokens = "1T";
        change(request);
        const Error error = refused(request);
        CHECK_FALSE(error.hint.empty());
        return error.message;
    };
    CHECK(changed([](auto& r) { r.objective = "speed"; }) == "--for `speed`: there is no such objective");
    CHECK(changed([](auto& r) { r.front = "time"; }) == "--front `time`: a front is of two objectives");
    CHECK(changed([](auto& r) { r.front = "time,time"; }) == "--front `time,time`: the two objectives are the same");
    CHECK(changed([](auto& r) { r.days = "0"; }) == "--days `0`: the deadline is now or in the past");
    CHECK(changed([](auto& r) { r.days = "-3"; }) == "--days `-3`: the deadline is now or in the past");
    CHECK(changed([](auto& r) { r.days = "inf"; }) == "--days `inf`: this is no number of days");
    CHECK(changed([](auto& r) { r.usd = "0"; }) == "--usd `0`: this is no whole number of dollars above 0");
    CHECK(changed([](auto& r) { r.power = "10 USD"; }).starts_with("--power: "));
    CHECK(changed([](auto& r) { r.power = "0W"; }) == "--power `0W`: it must be above 0");
    CHECK(changed([](auto& r) { r.plot = true; }) == "the picture is of a front, but no front is asked for");
    CHECK(changed([](auto& r) { r.train.batch_tokens = "2Mi..1Mi"; }) == "--batch-tokens `2Mi..1Mi` runs backwards");
    CHECK(changed([](auto& r) { r.train.sequence = "4Ki..8Ki*1"; }) == "--seq `4Ki..8Ki*1` would never end");
    CHECK(changed([](auto& r) { r.chips = "8..64*2"; }).starts_with("--chips has several numbers"));
    CHECK(changed([](auto& r) { r.chips = "4"; }) ==
          "no slice is within 4 chips: the nearest, h100-sxm5:8, has 8 chips");
    CHECK(changed([](auto& r) {
              r.chips = "8..12+4";
              r.train.machines = {{"h100-sxm", {}}};
          }) == "12 chips of H100 SXM5 80GB cannot be wired into a slice");
    CHECK(changed([](auto& r) {
              r.chips = "1..8";
              r.train.machines = {{"tpu-v5e", {}}};
              r.train.batch_tokens = "4Ki..2Mi+4Ki";
          }).find("cannot be wired") != std::string::npos);
    CHECK(changed([](auto& r) { r.train.batch_tokens = "4Ki..2Mi+4Ki"; }) ==
          "slices, batches, lengths of sequences, dtypes and optimizers make 512 jobs, and at most 256 are "
          "searched");
}

TEST_CASE("matmul dtypes and optimizers are searched, each with its best plan") {
    PlanRequest request = small();
    request.train.mesh = {"fsdp=8"};
    request.train.zero = "0";
    request.train.products = "bf16,fp8";
    request.train.optimizer = "adam,adam,moments=bf16";
    const auto response = handle(request, Format::json);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    const auto json = nlohmann::json::parse(response->out, nullptr, false);
    REQUIRE(json["jobs"].size() == 4);
    const auto step_s = [&](std::size_t job) { return json["jobs"][job]["best"]["step"]["expected_s"].get<double>(); };
    const auto bytes = [&](std::size_t job) {
        return json["jobs"][job]["best"]["memory_bytes"]["total"].get<double>();
    };
    CHECK(json["jobs"][0]["products"].is_null());
    CHECK(json["jobs"][1]["products"].is_null());
    CHECK(json["jobs"][2]["products"] == "fp8");
    CHECK(json["jobs"][2]["optimizer"] == "adam with f32 moments");
    CHECK(json["jobs"][3]["optimizer"] == "adam with bf16 moments");
    // two bytes less of each of two moments of 8.03 G parameters, an eighth on a chip
    const double less = 4 * 8.03e9 / 8;
    CHECK(bytes(0) - bytes(1) == approx(less).epsilon(1e-3));
    CHECK(bytes(2) - bytes(3) == approx(less).epsilon(1e-3));
    CHECK(step_s(2) < 0.8 * step_s(0));
    CHECK(json["best"]["plan"]["products"] == "fp8");
    CHECK(json["notes"].dump().find("what fewer bits cost in convergence") != std::string::npos);
    request.train.products = "bf16,int4";
    CHECK(refused(request).message.find("int4") != std::string::npos);
    request.train.products = "bf16,";
    CHECK(refused(request).message == "--products: a dtype is missing in `bf16,`");
    request.train.machines = {{"a100-sxm4-80:8", {}}};
    request.train.products = "fp8";
    CHECK(refused(request).code == "no_rate");
    request.train.products = "bf16,fp8";
    const auto only = nlohmann::json::parse(handle(request, Format::json)->out);
    CHECK(only["jobs"][2]["refused"].get<std::string>().find("no matrix units for fp8") != std::string::npos);
    CHECK(only["best"]["plan"]["products"].is_null());
    request.train.optimizer = "moments=bf16,adam";
    CHECK(refused(request).code == "unknown_optimizer");
}

namespace {

std::string shown_text(const PlanRequest& request) {
    const auto response = handle(request, Format::text);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    return response->out;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the text has the alternatives, then notes, then the command of the best plan") {
    PlanRequest request = small();
    request.train.tokens = "1T";
    const std::string text = shown_text(request);
    CHECK(contains(text, "certainty"));
    CHECK(contains(text, "Change of the time, in %, per 1 % more of: batch-tokens "));
    CHECK(contains(text, " days  "));  // of each alternative
    const std::size_t plans = text.find("certainty  plan");
    REQUIRE(plans != std::string::npos);
    CHECK(text.find("note: ") > plans);
    CHECK(text.rfind("roofline train llama-3.1-8b --on h100-sxm:8") > text.rfind("note: "));
    request.train.calibration.none = true;
    CHECK_FALSE(contains(shown_text(request), "certainty"));
}

// Nobody has timed anything on it.
constexpr const char* untimed = R"(
id = "untimed"
name = "Untimed"
[[matmul]]
dtype = "bf16"
value = "600 TFLOP/s"
source = "s"
[[memory]]
level = "hbm"
capacity = { value = "96 GB", source = "s" }
bandwidth = { value = "3 TB/s", source = "s" }
[[network]]
tier = "ici"
label = "ICI"
topology = "torus2d"
pod_shape = [8, 8]
link_bandwidth = { value = "100 GB/s", source = "s" }
)";

TEST_CASE("lower bounds are marked beside expected times") {
    PlanRequest request = small();
    request.train.mesh.clear();
    request.train.batch_tokens = "128Ki";
    request.train.machines = {{"h100-sxm:8", {}}, {"untimed.toml", untimed, "4x4"}};
    const std::string text = shown_text(request);
    const std::size_t row = text.find("untimed:4x4 ");
    REQUIRE(row != std::string::npos);
    CHECK(contains(text.substr(row, text.find('\n', row) - row), " >= "));
    CHECK(contains(text, ">=: a lower bound"));
    const std::size_t expected = text.find("h100-sxm5:8 ");
    REQUIRE(expected != std::string::npos);
    CHECK_FALSE(contains(text.substr(expected, text.find('\n', expected) - expected), ">="));
}

TEST_CASE("tables have the mesh, the stage of ZeRO, the schedule and the optimizer of each plan") {
    PlanRequest request = small_search();
    request.train.mesh = {"data=2", "tensor=4"};
    request.train.zero = "1";
    const auto csv = handle(request, Format::csv);
    REQUIRE_MESSAGE(csv, to_text(csv.error()));
    CHECK(csv->out.find(",mesh,zero,microbatches,schedule,") != std::string::npos);
    CHECK(csv->out.find(",\"data=2, tensor=4\",1,1,,") != std::string::npos);
    CHECK(csv->out.find(",adam with f32 moments,") != std::string::npos);
}

TEST_CASE("a machine without a size is one chip, and says so") {
    PlanRequest request = small_search();
    request.train.config = {"llama-3.2-1b", ""};
    request.train.machines = {{"h100-sxm", {}}};
    request.train.batch_tokens = "4096";
    CHECK(contains(shown_text(request), "--on h100-sxm has no size"));
    request.chips = "1";
    CHECK_FALSE(contains(shown_text(request), "has no size"));
    request = small_search();
    request.train.machines = {{"h100-sxm", {}}};
    request.chips = "8..4";
    CHECK(refused(request).hint == "the smaller number comes first: 4..8");
}
