#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "app/request.hpp"

using namespace roofline::core;

namespace {

nlohmann::json figure_sweep_of(const std::string& program, const std::vector<std::string>& dims,
                               const std::string& machine, const std::vector<std::string>& mesh,
                               const std::vector<std::string>& sweeps) {
    OpRequest request;
    request.program = program;
    request.dims = dims;
    request.mesh = mesh;
    request.sweeps = sweeps;
    request.machines = {{machine, {}}};
    const auto response = handle(request, Format::json, false);
    REQUIRE_MESSAGE(response, to_text(response.error()));
    auto json = nlohmann::json::parse(response->out);
    REQUIRE(json.contains("figure_sweep"));
    return json["figure_sweep"];
}

// A flip is the first value behind the change that was tried, within 1 % of it.
void check_figure_flip(const nlohmann::json& flip, const char* figure, double number) {
    CHECK(flip["figure"] == figure);
    CHECK(double(flip["at"][figure]) >= number);
    CHECK(double(flip["at"][figure]) <= 1.0101 * number);
}

constexpr double v5e_peak = 197e12;  // FLOP/s of a TPU v5e in bf16
constexpr const char* swept_matmul = "bf16[B, D] * bf16[D, F] -> bf16[B, F]";
constexpr const char* swept_layers = R"(I : bf16[B, D_X]
H : bf16[B, F_X] = I * bf16[D, F_X]
O : bf16[B, D_X] = H * bf16[F_X, D]
)";

}  // namespace

TEST_CASE("a sweep of the memory's bandwidth finds where a matmul becomes compute-bound") {
    // 2 BDF / C = 2 (BD + DF + BF) / W with D = F: W = C (1 / B + 2 / D), 1.587 TB/s for B = 128, D = 8192.
    const auto sweep =
        figure_sweep_of(swept_matmul, {"B=128,D=8192,F=8192"}, "tpu-v5e", {}, {"hbm.bandwidth=400GB/s..3.2TB/s*2"});
    REQUIRE(sweep["flips"].size() == 1);
    CHECK(sweep["flips"][0]["of"] == "bound_by");
    CHECK(sweep["flips"][0]["before"] == "HBM");
    CHECK(sweep["flips"][0]["after"] == "math");
    check_figure_flip(sweep["flips"][0], "hbm.bandwidth", v5e_peak * (1.0 / 128 + 2.0 / 8192));
    // The other way round, the peak beyond which the memory binds: C = W / (1 / B + 2 / D), 197.6 TFLOP/s for B = 256.
    const auto peaks =
        figure_sweep_of(swept_matmul, {"B=256,D=8192,F=8192"}, "tpu-v5e", {}, {"matmul.bf16=100TFLOP/s..400TFLOP/s*2"});
    REQUIRE(peaks["flips"].size() == 1);
    CHECK(peaks["flips"][0]["before"] == "math");
    check_figure_flip(peaks["flips"][0], "matmul.bf16", 819e9 / (1.0 / 256 + 2.0 / 8192));
}

TEST_CASE("a sweep of a link's bandwidth finds where tensor parallelism is no longer bound by communication") {
    // A ring of 16, both directions of a link: 4 BD (15/16) / (2 L) of communication, 4 BDF / (16 C) of math, so that
    // L = 15 C / (2 F): 90.2 GB/s for F = 16384.
    const auto sweep = figure_sweep_of(swept_layers, {"B=4096,D=8192,F=16384"}, "tpu-v5e:16x1", {"X=16"},
                                       {"ici.bandwidth=25GB/s..200GB/s*2"});
    REQUIRE(sweep["flips"].size() == 1);
    CHECK(sweep["flips"][0]["before"] == "ICI");
    CHECK(sweep["flips"][0]["after"] == "math");
    check_figure_flip(sweep["flips"][0], "ici.bandwidth", 15 * v5e_peak / (2 * 16384.0));
}

TEST_CASE("the JSON of a sweep of figures has the keys that the reference names") {
    const auto keys_in = [](const nlohmann::json& object) {
        std::set<std::string> names;
        for (const auto& [name, value] : object.items()) names.insert(name);
        return names;
    };
    const auto sweep =
        figure_sweep_of(swept_matmul, {"D=8192,F=8192"}, "tpu-v5e", {}, {"hbm.bandwidth=1..2TB/s*2", "B=64,128"});
    CHECK(keys_in(sweep) == std::set<std::string>{"machine", "time", "rate", "axes", "points", "flips", "notes"});
    REQUIRE(sweep["axes"].size() == 2);
    CHECK(keys_in(sweep["axes"][0]) == std::set<std::string>{"name", "unit", "values"});
    CHECK(sweep["axes"][0]["values"] == nlohmann::json{1e12, 2e12});
    CHECK(sweep["axes"][1]["unit"].is_null());
    REQUIRE(sweep["points"].size() == 4);
    CHECK(keys_in(sweep["points"][0]) ==
          std::set<std::string>{"at", "lower_s", "expected_s", "rate", "bound_by", "plan", "requests", "note"});
    CHECK(sweep["points"][1]["at"] == nlohmann::json{{"hbm.bandwidth", 1e12}, {"B", 128.0}});
    REQUIRE(sweep["flips"].size() == 1);
    CHECK(keys_in(sweep["flips"][0]) == std::set<std::string>{"of", "figure", "at", "before", "after"});
    CHECK(sweep["flips"][0]["at"]["B"] == 128);
}
