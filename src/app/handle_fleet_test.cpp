#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/fleet_file.hpp"
#include "app/request.hpp"
#include "base/approx_test.hpp"
#include "measure/module.hpp"

using namespace roofline::core;

namespace {

Result<FleetRequest> read(const std::string& text) {
    const FleetLoaders loaders{[](const std::string& name) -> Result<NamedText> { return NamedText{name, ""}; },
                               [](const std::string& name) -> Result<MachineRef> { return MachineRef{name, {}}; }};
    return read_fleet({"fleet.toml", text}, loaders);
}

// The request of a file that can be read. Its solver is null where the library is not installed.
FleetRequest fleet_of(const std::string& text) {
    auto request = read(text);
    REQUIRE_MESSAGE(request, to_text(request.error()));
    request->solver = [] { return load_module_as<MilpSolver>("cbc", "solver", "coinor-libcbc-dev"); };
    return std::move(*request);
}

bool no_solver(const FleetRequest& request) {
    const auto solver = request.solver();
    if (!solver) MESSAGE("skipped: " << solver.error().message);
    return !solver;
}

nlohmann::json answered(const FleetRequest& request, int exit_code) {
    const auto response = handle(request, Format::json);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    CHECK(response->exit_code == exit_code);
    return nlohmann::json::parse(response->out);
}

Error refusal(const std::string& text) {
    const auto request = read(text);
    REQUIRE_FALSE(request);
    return request.error();
}

constexpr const char* pools = R"(
days = 10
[pools.h100]
on = "h100-sxm"
chips = 16
price = 2
[pools.a100]
on = "a100-sxm4-80"
chips = 8
price = 1
)";

constexpr const char* training = R"(
[[train]]
name = "tuning"
model = "llama-3.1-8b"
batch-tokens = "512Ki"
seq = 4096
tokens = "1G"
chips = 8
mesh = "fsdp=8"
remat = "none"
microbatches = 8
)";

constexpr const char* serving = R"(
[[serve]]
name = "chat"
model = "llama-3.1-8b"
prompt = 512
output = 128
rate = 20
ttft = "1s"
tpot = "50ms"
)";

// The command that answers for one job alone.
nlohmann::json alone(const TrainRequest& request) {
    const auto response = handle(request, Format::json);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    return nlohmann::json::parse(response->out);
}

}  // namespace

TEST_CASE("a training run in a fleet takes the time that it takes alone, and costs chips times hours times price") {
    const FleetRequest fleet = fleet_of(std::string(pools) + training);
    if (no_solver(fleet)) return;
    const auto json = answered(fleet, 0);
    TrainRequest train = fleet.trained[0].plan.train;
    for (const auto& [machine, price, at] : {std::tuple("a100-sxm4-80:8", 1.0, 0), std::tuple("h100-sxm:8", 2.0, 1)}) {
        train.machines = {{machine, {}}};
        const double step_s = alone(train)["step"]["expected_s"];
        const double seconds = step_s * 1e9 / (512 * 1024);
        const auto& option = json["jobs"][0]["options"][static_cast<std::size_t>(at)];
        CHECK(double(option["seconds"]) == approx(seconds).epsilon(1e-9));
        CHECK(double(option["usd"]) == approx(8 * price * seconds / 3600).epsilon(1e-9));
    }
    const std::string command = json["jobs"][0]["command"];
    CHECK(command.find("roofline train llama-3.1-8b --on ") == 0);
    CHECK(command.find("--mesh fsdp=8") != std::string::npos);
    CHECK(command.find("--set price=") != std::string::npos);
    // the cheaper one is chosen
    const double first = json["jobs"][0]["options"][0]["usd"];
    const double second = json["jobs"][0]["options"][1]["usd"];
    CHECK(double(json["usd"]) == std::min(first, second));
    CHECK(json["bound_usd"] == json["usd"]);
}

TEST_CASE("a served model has as many replicas as its rate takes, each below the rate at which it meets the targets") {
    const FleetRequest fleet = fleet_of(std::string(pools) + serving);
    if (no_solver(fleet)) return;
    const auto json = answered(fleet, 0);
    const auto& job = json["jobs"][0];
    REQUIRE(job["options"].size() > 2);
    const std::string command = job["command"];
    CHECK(command.find(fmt::format("--rate {:.6g} ", 20 / double(job["chosen"]["replicas"]))) != std::string::npos);
    CHECK(command.find("--ttft 1s --tpot 50ms") != std::string::npos);
    for (const auto& option : job["options"]) {
        const double replicas = option["replicas"];
        const double largest = option["requests_per_s"];
        CHECK(20 <= replicas * largest);
        CHECK(20 > (replicas - 1) * largest);
        const double price = option["pool"] == "h100" ? 2 : 1;
        CHECK(double(option["usd"]) == approx(double(option["chips"]) * price * 240));
    }
}

// Every plan of one and two chips is asked for with `roofline serve`, each with as many replicas as its rate takes.
TEST_CASE("no replicas of any plan serve the rate of a fleet on fewer chips than the option that is taken") {
    const std::string small =
        "[pools.h100]\non = \"h100-sxm\"\nchips = 2\nprice = 2\n[pools.a100]\non = \"a100-sxm4-80\"\nchips = 2\nprice "
        "= 1\n";
    const FleetRequest fleet = fleet_of(small + serving + "aggregated = true\n");
    if (no_solver(fleet)) return;
    const auto json = answered(fleet, 0);
    double least = 1e30;
    for (const auto& [machine, price] : {std::pair("h100-sxm", 2.0), std::pair("a100-sxm4-80", 1.0)}) {
        for (const auto& [chips, mesh] :
             {std::pair(1, "data=1"), std::pair(2, "tensor=2"), std::pair(2, "pipeline=2")}) {
            ServeRequest serve = fleet.served[0].plan.serve;
            serve.machines = {{fmt::format("{}:{}", machine, chips), {}}};
            serve.mesh = {mesh};
            serve.rate = "1";
            const auto response = handle(serve, Format::json);
            REQUIRE(response);
            const double largest = nlohmann::json::parse(response->out)["load"]["largest"];
            const double used = std::ceil(20 / largest) * chips;
            if (used <= 2) least = std::min(least, used * price * 240 * 3);
        }
    }
    CHECK(double(json["usd"]) == approx(least));
}

// One pool has room for the training run or for the server, but not for both, and the other pool for neither.
TEST_CASE("jobs that do not fit together are said to lack chips") {
    std::string text = pools;
    text.replace(text.find("chips = 16"), 10, "chips = 8");
    text.replace(text.find("chips = 8\nprice = 1"), 9, "chips = 4");
    std::string second = training;
    second.replace(second.find("tuning"), 6, "other");
    const FleetRequest fleet = fleet_of(text + training + second);
    if (no_solver(fleet)) return;
    const auto json = answered(fleet, 1);
    CHECK(json["usd"].is_null());
    CHECK(json["pools"][0]["lacking"] == 0);
    CHECK(json["pools"][1]["name"] == "h100");
    CHECK(json["pools"][1]["lacking"] == 8);
    const auto response = handle(fleet, Format::text);
    REQUIRE(response);
    CHECK(response->out.find("With 8 more chips of h100 they would") != std::string::npos);
    CHECK(response->out.find("tuning does not run on a100") != std::string::npos);
}

TEST_CASE("a job that runs nowhere is named with the reasons") {
    std::string slow = training;
    slow += "days = 0.001\n";
    const FleetRequest fleet = fleet_of(std::string(pools) + slow + serving);
    if (no_solver(fleet)) return;
    const auto json = answered(fleet, 1);
    CHECK(json["jobs"][0]["options"].empty());
    CHECK(std::string(json["jobs"][0]["refused"]["h100"]).find("exceeds your limits") != std::string::npos);
    CHECK(json["jobs"][1]["chosen"].is_null());
}

TEST_CASE("what is wrong in the file of a fleet is said with its line") {
    CHECK(refusal("").message == "fleet.toml has no pool of chips");
    CHECK(refusal(pools).message == "fleet.toml has no job");
    const auto at_line = [](const std::string& text, const std::string& key) {
        const Error error = refusal(text);
        REQUIRE(error.place);
        INFO(error.message);
        CHECK(error.message.find(key) != std::string::npos);
        CHECK(error.place->source == "fleet.toml");
        CHECK(error.place->line > 0);
    };
    at_line(std::string(pools) + "[[train]]\nname = \"a\"\nmodel = \"llama-3.1-8b\"\n", "tokens");
    at_line(std::string(pools) + serving + "pipeline = 3\n", "pipeline");
    at_line(std::string(pools) + serving + serving, "two jobs are called chat");
    at_line("[pools.a]\non = \"h100-sxm:8\"\nchips = 8\n" + std::string(serving), "a pool has chips and no slice");
    at_line("[pools.a]\non = \"h100-sxm\"\n" + std::string(serving), "chips");
    at_line("days = 0\n", "days");
    at_line("= 3", "");
}

TEST_CASE("options that are wrong on every pool are errors, and so is a solver that is absent") {
    std::string wrong = training;
    wrong.replace(wrong.find("512Ki"), 5, "many");
    FleetRequest fleet = fleet_of(std::string(pools) + wrong);
    if (!no_solver(fleet)) {
        const auto response = handle(fleet, Format::text);
        REQUIRE_FALSE(response);
        CHECK(response.error().message.starts_with("tuning: "));
    }
    fleet.solver = []() -> Result<MilpSolver*> { return fail("absent", "no solver", "install it"); };
    const auto response = handle(fleet, Format::text);
    REQUIRE_FALSE(response);
    CHECK(response.error().code == "absent");
}
