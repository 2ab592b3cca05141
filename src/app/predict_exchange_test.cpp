#include "predict/compare/predict_exchange.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "app/request.hpp"
#include "base/approx_test.hpp"

using namespace roofline::core;
using nlohmann::json;

namespace {

const std::string exchange_head = "source,accelerator,impl,op,n_nodes,hidden,tokens_per_rank,topk,experts,sms,time_s\n";

json parsed_json(const Response& response) {
    REQUIRE_MESSAGE(!response.error, response.error->message);
    return json::parse(response.out, nullptr, false);
}

json validated(const std::string& rows, const std::string& calibration = "") {
    ValidateRequest request;
    request.table = exchange_head + rows;
    request.table_name = "t.csv";
    request.calibration.none = calibration.empty();
    if (!calibration.empty()) request.calibration.files = {{"c.toml", calibration}};
    return parsed_json(handle(Request{std::move(request), Format::json, false}));
}

// The model: 12 us, plus the rows of all choices at half of an H100's 450 GB/s, in both directions.
std::string calibration(const std::string& model = "base_us = 12\nlink = 0.5\n") {
    std::string text = "machine = \"h100-sxm5\"\n";
    for (const char* step : {"dispatch", "combine"}) {
        text += fmt::format(
            "[[exchange]]\nstep = \"{}\"\nsoftware = \"lib 1.0\"\nvariant = \"fast\"\ntiers = \"nvlink\"\n"
            "topology = \"switch\"\nlink_rate = \"450 GB/s\"\nmembers = 8\ntokens = [1, 100000]\nrows = 9\n"
            "error_fitted = 0.02\nerror_sizes = 0.03\nerror_shapes = 0.05\n{}",
            step, model);
    }
    return text;
}

OpRequest layer_of_experts() {
    OpRequest op;
    op.program =
        "T=8192, D=2048, E=128, A=8, C=512\n"
        "X : bf16[T_X, D]\nIds : int32[T_X, A]\nShare : bf16[T_X, A]\n"
        "Xe : bf16[E_X, C, D] = dispatch[E,C](X, Ids)\n"
        "M : bf16[T_X, D] = combine[E,C,A](Xe, Share)\n";
    op.machines = {{"h100-sxm5:8", {}, {}}};
    op.mesh = {"X=8"};
    op.calibration.files = {{"c.toml", calibration()}};
    op.software = "lib";
    return op;
}

}  // namespace

TEST_CASE("a row of a table is bound by one copy of each token") {
    // 7/8 of 4096 tokens of 7168 B leave: 57.1 us at 450 GB/s; results return in bf16.
    const json rows = validated(
        "x,h100_sxm,deepep_ll,dispatch,1,7168,4096,8,256,,114.2e-6\n"
        "x,h100_sxm,deepep_ll,combine,1,7168,4096,8,256,,228.4e-6\n"
        "x,h100_sxm,deepep_ll,combine,1,7168,4096,8,,,228.4e-6\n");
    CHECK(rows["rows"] == 2);
    CHECK(rows["skipped"] == 1);
    CHECK(rows["error"]["mean"].get<double>() == approx(0.5).epsilon(0.001));
}

TEST_CASE("chips of a node are known where a table counts nodes alone, trays too") {
    auto systems = MeasuredSystems::make();
    REQUIRE(systems);
    MeasuredExchange row;
    row.system = "gb200";
    const auto tray = group_of(row, *systems);
    REQUIRE(tray);
    CHECK(tray->load.members == 4);
    row.system = "h100_sxm";
    row.nodes = 2;
    CHECK(group_of(row, *systems)->load.members == 16);
    row.members = 1;
    CHECK(group_of(row, *systems).error().code == "one_chip");
    row.members = 0;
    row.system = "nobody knows";
    CHECK(group_of(row, *systems).error().code == "missing");
}

TEST_CASE("rows have the expected time of the model") {
    // 12 us + 1024 * 8 * 7/8 rows of 4096 B at 225 GB/s.
    const double expected = 12e-6 + 1024.0 * 7 * 4096 / 225e9;
    const json rows =
        validated(fmt::format("x,h100_sxm,deepep_ll,dispatch,1,4096,1024,8,256,,{}\n", expected), calibration());
    CHECK(rows["error_of"] == "expected");
    CHECK(rows["error"]["mean"].get<double>() < 1e-6);
}

TEST_CASE("what a program sends to experts has the model of an exchange") {
    OpRequest op = layer_of_experts();
    const json answer = parsed_json(handle({op, Format::json, false}));
    // Each chip has 1024 tokens with 8 choices each, 7/8 of which go to other chips, and 4096 B per row.
    const double expected = 12e-6 + 1024.0 * 7 * 4096 / 225e9;
    REQUIRE(answer["collectives"].size() == 2);
    for (const json& each : answer["collectives"]) {
        CHECK(each["kind"] == "all_to_all");
        CHECK(each["expected_s"].get<double>() / expected == approx(1));
        CHECK(each["expected_error"].get<double>() == approx(0.05));
        CHECK(each["calibration"] == "lib 1.0 fast");
    }
    // A library of collectives is used if it is named explicitly, and also if no software is named.
    op.software = "nccl";
    CHECK(parsed_json(handle({op, Format::json, false}))["collectives"][0]["calibration"] == "nccl 2.29.2");
    op.software = "";
    CHECK(parsed_json(handle({op, Format::json, false}))["collectives"][0]["calibration"] == "nccl 2.29.2");
}

TEST_CASE("with 16 experts on each chip a token goes once to 5.34 of 8, and a sweep says the same") {
    OpRequest op = layer_of_experts();
    op.calibration.files = {{"c.toml", calibration("base_us = 12\nlink = 0.5\nonce = true\n")}};
    // 8 (1 - C(112, 8) / C(128, 8)) = 5.339357.
    const double expected = 12e-6 + 1024.0 * 5.339357 * 7 / 8 * 4096 / 225e9;
    const json one = parsed_json(handle({op, Format::json, false}));
    CHECK(one["collectives"][0]["expected_s"].get<double>() / expected == approx(1));
    op.dims = {"C=512"};
    op.sweeps = {"D=1024,2048"};
    const json swept = parsed_json(handle({op, Format::json, false}));
    CHECK(swept["sweep"][1]["expected_s"].get<double>() / one["expected_s"].get<double>() == approx(1).epsilon(1e-9));
    op.sweeps = {};
    op.explain = true;
    const std::string text = handle({op, Format::text, false}).out;
    CHECK(text.find("with lib 1.0 fast on h100-sxm5, 9 rows") != std::string::npos);
    CHECK(text.find("goes once to each chip") != std::string::npos);
}
