#include "app/local/run_points.hpp"

#include <doctest/doctest.h>

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "app/op_answers.hpp"
#include "base/approx_test.hpp"
#include "measure/run/cpu_device.hpp"
#include "measure/stop.hpp"

using namespace roofline::core;

namespace {

RunRequest request(const std::string& program, const std::string& dims) {
    RunRequest run;
    run.op.program = program;
    if (!dims.empty()) run.op.dims = {dims};
    run.effort = Effort::quick;
    return run;
}

const char* const matmul = "f32[B, D] * f32[D, F] -> f32[B, F]";

RunAnswer answer_of(const RunRequest& run) {
    auto device = make_cpu_device({1, true});
    REQUIRE(device);
    Progress progress;
    auto answer = run_points(run, **device, progress);
    REQUIRE_MESSAGE(answer, (answer ? "" : answer.error().message));
    return std::move(*answer);
}

Error error_of(const RunRequest& run) {
    auto device = make_cpu_device({1, true});
    REQUIRE(device);
    Progress progress;
    auto answer = run_points(run, **device, progress);
    REQUIRE(!answer);
    return answer.error();
}

}  // namespace

TEST_CASE("run: a note explains a measurement below the lower bound") {
    RunRequest run = request(matmul, "D=32,F=16");
    run.op.sweeps = {"B=2,8"};
    const auto noted = [&](const std::string& bandwidth) {
        run.op.machines = {{"slow.toml", R"(
id = "slow"
name = "A slow machine"
kind = "cpu"
[[matmul]]
dtype = "f32"
value = "1000 TFLOP/s"
source = "invented"
[[memory]]
level = "hbm"
capacity = { value = "16 GiB", source = "invented" }
bandwidth = { value = ")" + bandwidth + R"(", source = "invented" }
)"}};
        const RunAnswer answer = answer_of(run);
        return fmt::format("{}", fmt::join(answer.notes, "\n"));
    };
    // A few kB take seconds at the first rate and nanoseconds at the second.
    CHECK(noted("1 kB/s").find("below the lower bound at B = 2; B = 8: a rate of A slow machine") != std::string::npos);
    CHECK(noted("1000 TB/s").find("below the lower bound") == std::string::npos);
}

TEST_CASE("run: a matmul is compared with the prediction of op") {
    RunRequest run = request(matmul, "B=8,D=32,F=16");
    run.op.machines = {{"tpu-v5e", {}, {}}};
    const RunAnswer answer = answer_of(run);
    REQUIRE(answer.points.size() == 1);
    const RunPoint& point = answer.points.front();
    CHECK(point.right());
    CHECK(point.checked == 8 * 16);
    CHECK(point.flops == 2.0 * 8 * 32 * 16);
    CHECK(point.bytes == 4.0 * (8 * 32 + 32 * 16 + 8 * 16));
    CHECK(point.cold.median > 0);
    CHECK(point.hot.median > 0);
    auto priced = op_answers(run.op, {});
    REQUIRE(priced);
    REQUIRE(point.answer);
    CHECK(point.answer->analysis.total.bounds.lower == priced->front().analysis.total.bounds.lower);

    const auto json = nlohmann::json::parse(run_report(answer, Format::json, false), nullptr, false);
    CHECK(json["lower_s"] == priced->front().analysis.total.bounds.lower);
    CHECK(json["measured_s"] == point.cold.median);
    CHECK(json["roofline_fraction"].get<double>() ==
          approx(priced->front().analysis.total.bounds.lower / point.cold.median));
    CHECK(json["check"]["right"] == true);
    CHECK(json["dims"]["B"] == 8);

    const std::string text = run_report(answer, Format::text, false);
    CHECK(text.find("f32[B, D] * f32[D, F] -> f32[B, F]\nB = 8, D = 32, F = 16\n") == 0);
    CHECK(text.find("128 elements right") != std::string::npos);
}

TEST_CASE("run: without a machine only measurements are shown") {
    const RunAnswer answer = answer_of(request(matmul, "B=8,D=32,F=16"));
    CHECK_FALSE(answer.points.front().answer);
    const auto json = nlohmann::json::parse(run_report(answer, Format::json, false), nullptr, false);
    CHECK(json["lower_s"].is_null());
    CHECK(json["measured_s"].get<double>() > 0);
    CHECK(run_report(answer, Format::text, false).find("\n  lower") == std::string::npos);
}

TEST_CASE("run: a sweep in every format and on both plots") {
    RunRequest run = request(matmul, "D=32,F=16");
    run.op.sweeps = {"B=1,4,16"};
    run.op.machines = {{"tpu-v5e", {}, {}}};
    RunAnswer answer = answer_of(run);
    REQUIRE(answer.points.size() == 3);
    CHECK(answer.points[2].flops == 16 * answer.points[0].flops);
    // Fixed times make the printed values predictable.
    for (std::size_t i = 0; i < 3; ++i) answer.points[i].cold.median = 1e-3 * static_cast<double>(i + 1);
    const std::string csv = run_report(answer, Format::csv, false);
    CHECK(
        csv.starts_with("B,measured_s,measured_p5_s,measured_p95_s,disturbed,hot_s,lower_s,expected_s,upper_s,"
                        "roofline_fraction,bound_by,flop_per_s,bytes_per_s,max_rel_error\n1,0.001,"));
    CHECK(run_report(answer, Format::markdown, false).find("| B | measured |") != std::string::npos);
    const auto json = nlohmann::json::parse(run_report(answer, Format::json, false), nullptr, false);
    REQUIRE(json["sweep"].size() == 3);
    CHECK(json["sweep"][1]["swept"]["B"] == 4);
    CHECK(json["sweep"][1]["measured_s"] == 2e-3);
    auto predicted = op_answers(run.op, answer.axes);
    REQUIRE(predicted);
    for (const PlotKind kind : {PlotKind::roofline, PlotKind::sweep}) {
        const auto svg = run_plot(answer, *predicted, kind);
        REQUIRE(svg);
        CHECK(svg->find("measured") != std::string::npos);
        // 2 * 4 * 32 * 16 FLOPs in 2 ms.
        CHECK(svg->find("2.05 MFLOP/s") != std::string::npos);
    }
}

TEST_CASE("run: each kernel of a program has its own time") {
    RunRequest run = request("X : f32[B=4, D=8]\nY : f32[B, D] = exp(X)\nZ : f32[B] = sum[D](Y)", "");
    run.op.machines = {{"tpu-v5e", {}, {}}};
    const RunAnswer answer = answer_of(run);
    REQUIRE(answer.points.front().kernels.size() == 2);
    const std::string text = run_report(answer, Format::text, false);
    CHECK(text.find("Z = sum[D](Y)") != std::string::npos);
    const auto json = nlohmann::json::parse(run_report(answer, Format::json, false), nullptr, false);
    CHECK(json["ops"][1]["measured_s"] == answer.points.front().kernels[1]);
}

TEST_CASE("run: a wrong result is reported") {
    RunAnswer answer = answer_of(request(matmul, "B=2,D=4,F=2"));
    answer.points.front().of_bound = 3;
    answer.points.front().worst = "C[0, 1] is 2, should be 1 within 1e-06";
    const std::string text = run_report(answer, Format::text, false);
    CHECK(text.find("WRONG: C[0, 1] is 2, should be 1 within 1e-06") != std::string::npos);
}

TEST_CASE("run: invalid requests are rejected before anything is measured") {
    CHECK(error_of(request(matmul, "B=8,D=32")).code == "unsized");
    CHECK(error_of(request("f32[B_X, D] * f32[D, F] -> f32[B_X, F]", "B=8,D=4,F=4")).code == "no_ranks");
    CHECK(error_of(request(matmul, "B=1000000,D=1000000,F=1000000")).code == "too_large");
    RunRequest two = request(matmul, "B=8,D=4,F=4");
    two.op.machines = {{"tpu-v5e", {}, {}}, {"h200", {}, {}}};
    CHECK(error_of(two).code == "bad_request");
}

TEST_CASE("run: an interrupt ends the run") {
    request_stop();
    const Error error = error_of(request(matmul, "B=8,D=4,F=4"));
    reset_stop();
    CHECK(error.code == "interrupted");
}
