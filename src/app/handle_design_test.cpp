#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/request.hpp"
#include "base/approx_test.hpp"

using namespace roofline::core;

namespace {

constexpr const char* costs = R"(
base = 500
source = "test"
[[term]]
figure = "hbm.bandwidth"
usd = 80
per = "1TB/s"
from = "1TB/s"
to = "10TB/s"
source = "test"
[[term]]
figure = "matmul.bf16"
usd = 0.4
per = "1TFLOP/s"
from = "100TFLOP/s"
to = "4PFLOP/s"
source = "test"
[[term]]
figure = "hbm.capacity"
usd = 12
per = "1GB"
from = "8GB"
to = "400GB"
source = "test"
)";

std::string workloads(const std::string& op_target, const std::string& train_target, const std::string& serve_target) {
    return fmt::format(R"(
[[workload]]
name = "matmul"
kind = "op"
program = "bf16[B, D] * bf16[D, F] -> bf16[B, F]"
dims = "B=256,D=8k,F=8k"
target = "{}"
[[workload]]
name = "step"
kind = "train"
model = "llama-3.1-8b"
on = "8"
batch-tokens = "64Ki"
seq = "4096"
mesh = "fsdp=8"
remat = "full"
weight = 2
target = "{}"
[[workload]]
name = "chat"
kind = "serve"
model = "llama-3.1-8b"
on = "1"
batch = "16"
prompt = "1k"
output = "256"
weight = 50
target = "{}"
)",
                       op_target, train_target, serve_target);
}

DesignRequest design(const std::string& jobs) {
    DesignRequest request;
    request.base = {"h200-sxm", {}};
    request.vary = {"hbm.bandwidth=2TB/s,4TB/s,6TB/s,8TB/s", "matmul.bf16=500TFLOP/s,1PFLOP/s,2PFLOP/s",
                    "hbm.capacity=16GB,24GB,48GB"};
    request.cost = {"costs.toml", costs};
    request.workloads = {"workloads.toml", jobs};
    return request;
}

template <class Asked>
nlohmann::json answer_of(const Asked& request) {
    const auto response = handle(request, Format::json);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    return nlohmann::json::parse(response->out);
}

nlohmann::json answer_of(const OpRequest& request) {
    const auto response = handle(request, Format::json, false);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    return nlohmann::json::parse(response->out);
}

struct Tried {
    double usd = 0;
    std::array<double, 3> seconds{};  ///< infinite if the workload does not fit
    [[nodiscard]] double weighted() const { return seconds[0] + 2 * seconds[1] + 50 * seconds[2]; }
};

// Each machine of the space, by a loop that asks the ordinary commands.
std::vector<Tried> all_machines() {
    std::vector<Tried> all;
    for (const double bandwidth : {2.0, 4.0, 6.0, 8.0}) {
        for (const double rate : {500.0, 1000.0, 2000.0}) {
            for (const double capacity : {16.0, 24.0, 48.0}) {
                const std::vector<std::string> sets{fmt::format("hbm.bandwidth={}TB/s", bandwidth),
                                                    fmt::format("matmul.bf16={}TFLOP/s", rate),
                                                    fmt::format("hbm.capacity={}GB", capacity)};
                Tried tried;
                tried.usd = 500 + 80 * bandwidth + 0.4 * rate + 12 * capacity;
                OpRequest op;
                op.program = "bf16[B, D] * bf16[D, F] -> bf16[B, F]";
                op.dims = {"B=256,D=8k,F=8k"};
                op.machines = {{"h200-sxm", {}}};
                op.sets = sets;
                tried.seconds[0] = answer_of(op)["expected_s"];
                TrainRequest train;
                train.config = {"llama-3.1-8b", ""};
                train.machines = {{"h200-sxm:8", {}}};
                train.batch_tokens = "64Ki";
                train.sequence = "4096";
                train.mesh = {"fsdp=8"};
                train.remat = "full";
                train.sets = sets;
                const auto step = answer_of(train);
                constexpr double never = std::numeric_limits<double>::infinity();
                tried.seconds[1] = step["fits"] ? double(step["step_s"]) : never;
                ServeRequest serve;
                serve.config = {"llama-3.1-8b", ""};
                serve.machines = {{"h200-sxm:1", {}}};
                serve.batch = "16";
                serve.prompt = "1k";
                serve.output = "256";
                serve.sets = sets;
                const auto chat = answer_of(serve);
                tried.seconds[2] = chat["fits"] ? double(chat["tpot_s"]) : never;
                all.push_back(tried);
            }
        }
    }
    return all;
}

double cheapest(const std::vector<Tried>& all, const std::array<double, 3>& targets) {
    double least = std::numeric_limits<double>::infinity();
    for (const Tried& each : all) {
        bool meets = true;
        for (std::size_t i = 0; i < targets.size(); ++i) meets = meets && each.seconds[i] <= targets[i];
        if (meets) least = std::min(least, each.usd);
    }
    return least;
}

}  // namespace

TEST_CASE("the cheapest machine and the front are those of a loop over all machines that asks the ordinary commands" *
          doctest::test_suite("exhaustive")) {
    const std::vector<Tried> all = all_machines();
    REQUIRE(all.size() == 36);
    constexpr double none = std::numeric_limits<double>::infinity();
    constexpr std::array<const char*, 3> names{"matmul", "step", "chat"};
    // from times of the middle of the space, so that each target excludes some machines and leaves others
    std::array<std::vector<double>, 3> times;
    for (const Tried& each : all) {
        for (std::size_t i = 0; i < times.size(); ++i) {
            if (each.seconds[i] < none) times[i].push_back(each.seconds[i]);
        }
    }
    for (auto& of_workload : times) std::sort(of_workload.begin(), of_workload.end());
    for (const double part : {0.2, 0.5, 0.8}) {
        std::array<double, 3> targets{};
        std::array<std::string, 3> words;
        for (std::size_t i = 0; i < targets.size(); ++i) {
            // above a time that a machine has, by less than to the next one
            targets[i] = 1.0001 * times[i][static_cast<std::size_t>(part * static_cast<double>(times[i].size() - 1))];
            words[i] = fmt::format("{:.12g}s", targets[i]);
        }
        CAPTURE(part);
        const auto json = answer_of(design(workloads(words[0], words[1], words[2])))["design"];
        CHECK(double(json["best"]["usd"]) == approx(cheapest(all, targets)));
        CHECK(json["machines"] == 36);
        for (std::size_t i = 0; i < targets.size(); ++i) {
            std::array<double, 3> one{none, none, none};
            one[i] = targets[i];
            CHECK(double(json["alone"][names[i]]["usd"]) == approx(cheapest(all, one)));
        }
        REQUIRE(json["front"].size() > 2);
        for (const auto& machine : json["front"]) {
            // no machine is at most as slow and cheaper
            double least = none;
            for (const Tried& each : all) {
                if (each.weighted() <= double(machine["weighted_s"]) * (1 + 1e-9)) least = std::min(least, each.usd);
            }
            CHECK(double(machine["usd"]) == approx(least));
        }
    }
}

TEST_CASE("a design says what is wrong with its files and its targets") {
    const auto refused = [](const DesignRequest& request) {
        const auto response = handle(request, Format::text);
        REQUIRE_FALSE(response);
        return response.error();
    };
    const std::string good = workloads("1s", "100s", "1s");
    DesignRequest request = design(good);
    request.workloads.text.replace(good.find("llama-3.1-8b"), 12, "llama-9");
    CHECK(refused(request).message.find("llama-9") != std::string::npos);
    request = design(good + "colour = 3\n");
    CHECK(refused(request).message.find("colour") != std::string::npos);
    request = design(good);
    request.vary = {"hbm.bandwidth=0..8TB/s"};
    CHECK(refused(request).code != "");
    request.vary = {"hbm.bandwidth=2..80TB/s"};
    CHECK(refused(request).message.find("from 1 TB/s to 10 TB/s") != std::string::npos);
    request = design(workloads("1ns", "100s", "1s"));
    const auto response = handle(request, Format::text);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    CHECK(response->exit_code == 1);
    CHECK(response->out.find("none of 36 machines") != std::string::npos);
    CHECK(response->out.find("no figure alone, up to 16 times as much") != std::string::npos);
    const auto json = answer_of(request)["design"];
    CHECK(json["met"] == false);
    CHECK(json["best"].is_null());
    // the best of the space takes the least time, 8 TB/s and 2 PFLOP/s; the memory is the least that the step needs
    CHECK(json["nearest"]["figures"]["hbm.bandwidth"] == 8e12);
    CHECK(json["nearest"]["figures"]["matmul.bf16"] == 2e15);
    REQUIRE(json["unmet"].size() == 1);
    CHECK(json["unmet"][0]["workload"] == "matmul");
    CHECK(json["unmet"][0]["met_with"].empty());
}
