#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/request.hpp"
#include "base/approx_test.hpp"
#include "calibrate/calibration.hpp"
#include "text/shared_text_test.hpp"

using namespace roofline::core;
using nlohmann::json;

namespace {

/// Each time is 10 us plus the transfer at 400 GB/s, of the 450 GB/s of an H100.
std::string all_gathers(std::string_view system = "h100_sxm") {
    std::ostringstream csv;
    csv << "op,system,n_devices,bytes,time_s,lib\n";
    csv.precision(10);
    for (const int members : {2, 4, 8}) {
        for (double bytes = 1024; bytes < 1e9; bytes *= 4) {
            const double time = 10e-6 + bytes * (members - 1) / members / 400e9;
            csv << "all_gather," << system << ',' << members << ',' << bytes << ',' << time << ",NCCL 9.1\n";
        }
    }
    return csv.str();
}

Response fit(std::string table, Format format = Format::json, std::string output = {}) {
    FitRequest request;
    request.tables = {{"t.csv", std::move(table)}};
    request.output = std::move(output);
    request.date = "2026-01-31";
    return handle({request, format, false});
}

json parsed(const Response& response) {
    REQUIRE_MESSAGE(!response.error, response.out);
    return json::parse(response.out, nullptr, false);
}

}  // namespace

TEST_CASE("fit writes a file that op and validate can use") {
    const Response response = fit(all_gathers(), Format::json, "out");
    const json answer = parsed(response);
    CHECK(answer["laws"].size() == 1);
    CHECK(answer["laws"][0]["machine"] == "h100-sxm5");
    CHECK(answer["laws"][0]["error"]["sizes"].get<double>() < 0.001);
    CHECK(answer["files"] == json::array({"out/h100-sxm5.toml"}));
    REQUIRE(response.files.size() == 1);
    const auto calibration = parse_calibration(response.files.front().text, "h100-sxm5.toml");
    REQUIRE(calibration);
    CHECK(calibration->fitted == "2026-01-31");

    OpRequest op;
    op.program = "bf16[B_X, D] -> bf16[B, D]";
    op.machines = {{"h100-sxm5:8", {}, {}}};
    op.dims = {"B=1024,D=65536"};  // 134 MB: 7/8 of them at 400 GB/s, and 10 us
    op.mesh = {"X=8"};
    op.calibration.none = true;
    CHECK(parsed(handle({op, Format::json, false}))["expected_s"].is_null());
    op.calibration = {false, response.files};
    const json priced = parsed(handle({op, Format::json, false}));
    const double expected = 10e-6 + 134217728.0 * 7 / 8 / 400e9;
    CHECK(priced["expected_s"].get<double>() == approx(expected).epsilon(0.002));
    CHECK(priced["expected_error"].get<double>() < 0.001);
    const json& collective = priced["collectives"][0];
    CHECK(collective["calibration"] == "nccl 9.1");
    // As nccl-tests define them: 134 MB over the time, and 7/8 of that.
    CHECK(collective["algbw_Bps"].get<double>() == approx(134217728.0 / expected).epsilon(0.002));
    CHECK(collective["busbw_Bps"].get<double>() == approx(134217728.0 / expected * 7 / 8).epsilon(0.002));

    ValidateRequest validate;
    validate.table = all_gathers();
    validate.calibration.files = response.files;
    CHECK(parsed(handle({validate, Format::json, false}))["error"]["mean"].get<double>() < 0.001);
}

TEST_CASE("fit refuses what it cannot use") {
    CHECK(fit("a,b\n1,2\n").error->code == "unknown_table");
    FitRequest strict;
    strict.tables = {{"t.csv", all_gathers() + "all_gather,h100_sxm,8,x,1,\n"}};
    strict.strict = true;
    CHECK(handle({strict, Format::json, false}).error->place->line == 32);
    strict.strict = false;
    CHECK(parsed(handle({strict, Format::json, false}))["skipped"].dump().find("`x` in column `bytes`") !=
          std::string::npos);
    const Response none = fit("op,system,n_devices,bytes,time_s\nall_gather,h100_sxm,8,1024,1e-5\n");
    CHECK(none.exit_code == 1);
    CHECK(parsed(none)["too_few"] == 1);
    const std::string two = all_gathers() + all_gathers("b200_sxm").substr(all_gathers().find('\n') + 1);
    CHECK(fit(two, Format::text, "one.toml").error->code == "bad_request");
    CHECK(fit(two, Format::text, "dir").files.size() == 2);
}

TEST_CASE("software that nobody measured is refused, and a program without collectives has none") {
    OpRequest op;
    op.program = "bf16[B_X, D] -> bf16[B, D]";
    op.machines = {{"h100-sxm5:8", {}, {}}};
    op.dims = {"B=1024,D=65536"};
    op.mesh = {"X=8"};
    op.software = "nclc-2.29";
    const Response wrong = handle({op, Format::json, false});
    REQUIRE(wrong.error);
    CHECK(wrong.error->code == "unknown_software");
    CHECK(wrong.error->hint.find("nccl") != std::string::npos);
    op.software = "nccl-2.29";
    CHECK(parsed(handle({op, Format::json, false}))["collectives"][0]["calibration"] == "nccl 2.29.2");
    op.program = "bf16[B, D] * bf16[D, F] -> bf16[B, F]";
    op.mesh = {};
    op.machines = {{"h100-sxm5", {}, {}}};
    REQUIRE(handle({op, Format::json, false}).error);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROOFLINE_SANITIZED
#endif
#endif

// This takes seconds, but minutes with sanitizers, which cover the small fits above.
#ifndef ROOFLINE_SANITIZED
TEST_CASE("what is fitted to published tables is as accurate as said") {
    const auto published = shared_text("measured/collective_published.csv");
    if (!published) return;
    std::istringstream file(*published);
    std::string table;
    std::string line;
    std::getline(file, table);
    table += '\n';
    while (std::getline(file, line)) {
        for (const char* const wanted : {"aic:h100_sxm/nccl/2.29.2,", "aic:h200_sxm/nccl/2.29.2,",
                                         "aic:b200_sxm/nccl/2.29.2,", "aic:a100_sxm/nccl/", ",GB200 NVL72,"}) {
            if (line.find(wanted) != std::string::npos) table += line + '\n';
        }
    }
    struct Mean {
        double sum = 0;
        double rows = 0;
        [[nodiscard]] double value() const { return sum / rows; }
    };
    std::map<std::string, Mean> sizes;
    std::map<std::string, Mean> relative;
    const json answer = parsed(fit(std::move(table)));
    for (const json& model : answer["laws"]) {
        const std::string operation =
            model["operation"].get<std::string>() + (model["machine"] == "gb200" ? " 72" : "");
        const double rows = model["rows"].get<double>();
        sizes[operation].sum += rows * model["error"]["sizes"].get<double>();
        sizes[operation].rows += rows;
        if (model["error"]["relative"].is_null()) continue;
        relative[operation].sum += rows * model["error"]["relative"].get<double>();
        relative[operation].rows += rows;
    }
    for (const std::string operation : {"all_gather", "reduce_scatter", "all_reduce"}) {
        CAPTURE(operation);
        CHECK(sizes[operation].value() < 0.06);
        CHECK(relative[operation].value() < 0.12);
        CHECK(sizes[operation + " 72"].value() < 0.07);
    }
    CHECK(sizes["all_to_all"].value() < 0.08);
    CHECK(sizes["all_to_all 72"].value() < 0.12);
}
#endif

namespace {

/// Each time is 2 us, 1 ns per element of K, and the longer of 0.8 of an H100's 989.4 TFLOP/s and 0.9 of its 3.35 TB/s.
std::string timed_matmuls() {
    std::ostringstream csv;
    csv << "source,accelerator,dtype_in,dtype_out,m,n,k,time_s\n";
    csv.precision(10);
    for (double m = 1; m <= 8192; m *= 4) {
        for (const double k : {1024.0, 4096.0, 16384.0}) {
            constexpr double n = 4096;
            const double math = 2 * m * n * k / 989.4e12 / 0.8;
            const double memory = 2 * (m * k + k * n + m * n) / 3.35e12 / 0.9;
            csv << "invented:vllm/9.0,h100_sxm,bf16,bf16," << m << ',' << n << ',' << k << ','
                << 2e-6 + 1e-9 * k + std::max(math, memory) << '\n';
        }
    }
    return csv.str();
}

}  // namespace

TEST_CASE("a table of products gives a model of kernels that op and validate use") {
    const Response response = fit(timed_matmuls(), Format::json, "out");
    const json answer = parsed(response);
    CHECK(answer["rows"] == 21);
    REQUIRE(answer["kernels"].size() == 1);
    const json& model = answer["kernels"][0];
    CHECK(model["machine"] == "h100-sxm5");
    CHECK(model["kind"] == "contraction");
    CHECK(model["dtype"] == "bf16");
    CHECK(model["software"] == "vllm 9.0");
    CHECK(model["fixed_s"].get<double>() == approx(2e-6).epsilon(0.05));
    CHECK(model["ramp_s"].get<double>() == approx(1e-9).epsilon(0.05));
    CHECK(model["math"].get<double>() == approx(0.8).epsilon(0.01));
    CHECK(model["memory"].get<double>() == approx(0.9).epsilon(0.01));
    CHECK(model["p"].is_null());
    CHECK(model["error"]["held_out"].get<double>() < 0.01);
    CHECK(model["error"]["bound"].get<double>() > 0.1);
    REQUIRE(response.files.size() == 1);

    OpRequest op;
    op.program = "bf16[M, K] * bf16[K, N] -> bf16[M, N]";
    op.machines = {{"h100-sxm5", {}, {}}};
    op.dims = {"M=4096,N=4096,K=4096"};
    op.calibration.files = {{"h100-sxm5.toml", response.files.front().text}};
    const json one = parsed(handle({op, Format::json, false}));
    // 2 us + 4.096 us + 2 * 4096^3 FLOP / 989.4 TFLOP/s / 0.8 = 6.096 + 173.639 us
    CHECK(one["expected_s"].get<double>() == approx(179.735e-6).epsilon(0.01));
    // The error of models of 21 measurements on other sizes, 0.62 over the square root of 21 (docs/method/kernels.md),
    // is larger than the held-out error.
    CHECK(model["error"]["held_out"].get<double>() < 0.01);
    CHECK(one["expected_error"].get<double>() == approx(0.1353).epsilon(1e-3));
    op.dims = {"N=4096,K=4096"};
    op.sweeps = {"M=1024,4096"};
    const json swept = parsed(handle({op, Format::json, false}));
    CHECK(swept["sweep"][1]["expected_s"].get<double>() == approx(one["expected_s"].get<double>()).epsilon(1e-9));
    CHECK(swept["sweep"][0]["expected_s"].get<double>() > swept["sweep"][0]["lower_s"].get<double>());
}

TEST_CASE("one row makes no model, and a file of kernels leaves the collectives their constants") {
    const Response response = fit(timed_matmuls() + "x,h100_sxm,fp8,bf16,64,64,64,1e-5\n", Format::json, "out");
    const json answer = parsed(response);
    CHECK(answer["rows"] == 21);
    CHECK(answer["kernels"].size() == 1);  // fp8 has a single measurement
    OpRequest op;
    op.program = "bf16[B_X, D] -> bf16[B, D]";
    op.machines = {{"h100-sxm5:8", {}, {}}};
    op.dims = {"B=8192,D=8192"};
    op.mesh = {"X=8"};
    const json before = parsed(handle({op, Format::json, false}));
    op.calibration.files = {{"h100-sxm5.toml", response.files.front().text}};
    const json after = parsed(handle({op, Format::json, false}));
    CHECK(before["expected_s"].is_number());
    CHECK(before["expected_s"] == after["expected_s"]);
    // With both, a program that computes and communicates has an expected time: the sum of its parts.
    op.program = "X: bf16[B_X, D]; W: bf16[D, F]; Y : bf16[B_X, F] = X * W; Z : bf16[B, F] = Y";
    op.dims = {"B=8192,D=4096,F=8192"};
    const json both = parsed(handle({op, Format::json, false}));
    REQUIRE(both["expected_s"].is_number());
    CHECK(both["expected_s"].get<double>() ==
          approx(both["ops"][0]["expected_s"].get<double>() + both["ops"][1]["expected_s"].get<double>()));
    // The built-in calibrations include both; without calibrations there is neither.
    op.calibration = {};
    CHECK(parsed(handle({op, Format::json, false}))["expected_s"].is_number());
    op.calibration.none = true;
    CHECK(parsed(handle({op, Format::json, false}))["expected_s"].is_null());
}

// Ten copies of 4 MB to 2 GB at 400 GB/s plus 250 us, in which the host waits for its device: a fit would add these 250
// us to every small kernel.
TEST_CASE("times of a host's coarse clock are not fitted to, but compared with bounds") {
    const auto table = [](const char* note) {
        std::ostringstream csv;
        csv << "system,op,shape,dtype,time_s,notes\n";
        for (int i = 0; i < 10; ++i) {
            const double elements = 524288.0 * (1 << i);
            csv << "m1-max,copy," << (512 << i) << "x1024,fp32," << 250e-6 + 8 * elements / 400e9 << ',' << note
                << '\n';
        }
        return csv.str();
    };
    const json refused = parsed(fit(table("milliseconds to 0.01")));
    CHECK(refused["files"].empty());
    CHECK(refused["kernels"].empty());
    REQUIRE(refused["skipped"].size() == 1);
    CHECK(refused["skipped"][0]["rows"] == 10);
    CHECK(refused["skipped"][0]["reason"].get<std::string>().find("wait for the device") != std::string::npos);
    // the same times by the device's clock
    CHECK(parsed(fit(table("timer 1us")))["kernels"].size() == 1);
}

TEST_CASE("kernels of Apple GPUs do not include the time of a host's wait") {
    for (const char* machine : {"m1", "m1-max", "m1-ultra", "m2-ultra", "m4-max"}) {
        CAPTURE(machine);
        OpRequest op;
        op.program = "relu(f32[B, D]) -> f32[B, D]";
        op.machines = {{machine, {}, {}}};
        op.dims = {"B=64,D=4096"};
        CHECK(parsed(handle({op, Format::json, false}))["expected_s"].is_null());
    }
}
