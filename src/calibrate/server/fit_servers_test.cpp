#include "calibrate/server/fit_servers.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace roofline::core;

namespace {

/// Measurements of a server with known parameters: sixteen loads for each of two models.
std::vector<ServerSample> rows_of(const char* software, const ServerModel& costs, const char* platform = "") {
    std::vector<ServerSample> rows;
    for (const double sequences : {1.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0}) {
        for (const double size : {1.0, 4.0}) {
            for (const double output : {100.0, 1000.0}) {
                ServerSample row;
                row.software = software;
                row.model = size > 1 ? "large" : "small";
                row.machine = "m";
                row.source = "made up";
                row.platform = platform;
                row.sequences = sequences;
                row.output = output;
                row.kernels.seconds = size * (4e-3 + 30e-6 * sequences);
                row.prompt_s = size * 20e-3;
                row.launches = 400;
                row.measured_s = token_seconds(costs, row);
                rows.push_back(row);
            }
        }
    }
    return rows;
}

}  // namespace

TEST_CASE("a token waits for its step and for the prompts that go in meanwhile") {
    ServerSample row;
    row.kernels.seconds = 10e-3;
    row.sequences = 50;
    row.output = 100;
    row.prompt_s = 8e-3;
    row.launches = 100;
    // 0.5 x 10 ms + 1 ms + 50 x 10 us, and half a prompt per step
    CHECK(token_seconds({0.5, 1e-3, 10e-6, 0}, row) == approx(5e-3 + 1e-3 + 0.5e-3 + 4e-3));
    CHECK(token_seconds({0.5, 1e-3, 10e-6, 100e-6}, row) == approx(5e-3 + 1e-3 + 0.5e-3 + 5e-3));
}

TEST_CASE("constants that made the rows are found, odd rows or not") {
    const ServerModel costs{0.8, 1e-3, 20e-6, 0};
    auto rows = rows_of("one 1.0", costs);
    rows[3].measured_s *= 5;
    const ServerModels fitted = fit_servers(rows);
    REQUIRE(fitted.servers.size() == 1);
    const CalibratedServer& server = fitted.servers.front();
    CHECK(server.software == "one");
    CHECK(server.rows == 32);
    CHECK(server.models == std::vector<std::string>{"large", "small"});
    CHECK(server.costs.kernels == approx(0.8).epsilon(0.03));
    CHECK(server.costs.step_s == approx(1e-3).epsilon(0.1));
    CHECK(server.costs.sequence_s == approx(20e-6).epsilon(0.1));
    CHECK(server.error_fitted < 0.035);  // 0.8 / 32 of it is due to the outlier
    CHECK(server.error_fitted > 0.0245);
}

TEST_CASE("the order of rows does not matter") {
    auto rows = rows_of("one", {0.9, 1e-3, 0, 60e-6});
    for (ServerSample& row : rows_of("two", {0.9, 3e-3, 10e-6, 0})) rows.push_back(row);
    const ServerModels fitted = fit_servers(rows);
    REQUIRE(fitted.servers.size() == 2);
    std::reverse(rows.begin(), rows.end());
    CHECK(fit_servers(rows) == fitted);
    // launching 400 kernels takes longer than the small model's 20 ms
    CHECK(fitted.servers[0].costs.launch_s == approx(60e-6).epsilon(0.05));
}

TEST_CASE("what was never tried on another model says so") {
    auto rows = rows_of("one", {0.8, 1e-3, 20e-6, 0});
    std::erase_if(rows, [](const ServerSample& row) { return row.model == "small"; });
    const ServerModels fitted = fit_servers(rows);
    REQUIRE(fitted.servers.size() == 1);
    CHECK(fitted.servers.front().error_held_out == approx(0.4));
    rows.resize(7);
    CHECK(fit_servers(rows).servers.empty());
    CHECK(fit_servers({}).servers.empty());
}

TEST_CASE("few measurements have a time per step, and none per sequence") {
    const ServerModel costs{0.8, 2e-3, 40e-6, 0};
    auto rows = rows_of("one", costs);
    CHECK(fit_servers(rows).servers.front().costs.sequence_s == approx(40e-6).epsilon(0.1));
    std::erase_if(rows, [](const ServerSample& row) { return row.sequences > 8; });  // twelve are left
    const ServerModels fitted = fit_servers(rows);
    REQUIRE(fitted.servers.size() == 1);
    CHECK(fitted.servers.front().costs.sequence_s == 0);
    CHECK(fitted.servers.front().costs.launch_s == 0);
    // 2 ms, and what up to eight sequences add
    CHECK(fitted.servers.front().costs.step_s == approx(2.15e-3).epsilon(0.15));
}

TEST_CASE("another platform has parameters of its own where they predict other models better") {
    const ServerModel home{0.8, 1e-3, 20e-6, 0};
    auto rows = rows_of("one", home, "p");
    for (ServerSample& row : rows_of("two", home, "q")) rows.push_back(row);
    for (ServerSample& row : rows_of("two", {0.6, 5e-3, 20e-6, 0}, "r")) rows.push_back(row);
    const auto of_r = [](const ServerSample& row) { return row.platform == "r"; };
    // five rows there are too few for parameters; times of 1.5 times home's predictions are an error of a third
    for (std::size_t i = 0; i < 5; ++i) {
        rows.push_back(rows[i]);
        rows.back().platform = "r";
        rows.back().measured_s *= 1.5;
    }
    const ServerModels fitted = fit_servers(rows);
    REQUIRE(fitted.servers.size() == 3);
    CHECK(fitted.find("one", "p")->costs.step_s == approx(1e-3).epsilon(0.1));
    CHECK(fitted.find("two", "q")->costs.kernels == approx(0.8).epsilon(0.03));
    CHECK(fitted.find("two", "r")->costs.kernels == approx(0.6).epsilon(0.03));
    CHECK(fitted.find("two", "r")->costs.step_s == approx(5e-3).epsilon(0.1));
    REQUIRE(fitted.elsewhere.size() == 1);
    CHECK(fitted.elsewhere[0].software == "one");
    CHECK(fitted.elsewhere[0].platform == "r");
    CHECK(fitted.elsewhere[0].rows == 5);
    CHECK(fitted.elsewhere[0].errors.tpot == approx(1.0 / 3).epsilon(0.03));
    // one model takes 0.7, the other 1.4 times what home's parameters say: of two, neither predicts the other
    std::erase_if(rows, of_r);
    for (const ServerSample& row : rows_of("two", home, "r")) {
        rows.push_back(row);
        rows.back().measured_s *= row.model == "small" ? 0.7 : 1.4;
    }
    const ServerModels mixed = fit_servers(rows);
    CHECK(mixed.servers.size() == 2);
    REQUIRE(mixed.elsewhere.size() == 1);
    // (0.3 / 0.7 + 0.4 / 1.4) / 2
    CHECK(mixed.elsewhere[0].errors.tpot == approx(0.357).epsilon(0.03));
}

TEST_CASE("the wait is the number of steps that most times to first token lack") {
    ServerModels models;
    for (const char* software : {"one", "one 1.2", "two"}) models.servers.emplace_back().software = software;
    std::vector<WaitSample> samples;
    for (int i = 1; i <= 10; ++i) {
        const double step = 1e-3 * i;
        for (const char* model : {"a", "b"}) samples.push_back({"one 1.2.3", model, 0.1, step, 0.1 + 7 * step});
    }
    samples.push_back({"one 1.1", "a", 0.1, 1e-3, 9});  // an odd one
    samples.push_back({"two", "a", 0.1, 1e-3, 9});      // too few
    fit_waits(models, samples);
    CHECK(models.servers[0].costs.wait_steps == approx(7));
    CHECK(models.servers[1].costs.wait_steps == approx(7));
    CHECK(models.servers[1].ttft_error_held_out < 1e-9);
    // of 21 rows one is 0.988 off
    CHECK(models.servers[0].ttft_error_held_out == approx((1 - 0.107 / 9) / 21));
    CHECK(models.servers[2].costs.wait_steps == 0);
    CHECK(models.servers[2].ttft_error_held_out == 0);
    // rows that are faster than expected do not make a negative wait
    for (WaitSample& sample : samples) sample.measured_s = 0.05;
    fit_waits(models, samples);
    CHECK(models.servers[0].costs.wait_steps == 0);
}

TEST_CASE("errors elsewhere are those of all times that were measured there") {
    ServerModels models;
    models.elsewhere = {{"one", "p", 3, {"a"}, {0.9, 0}}, {"two", "p", 4, {"a"}, {0.7, 0.6}}};
    measure_elsewhere(models, {{"one 1.2", "p", false, 1, 2},
                               {"one 1.3", "p", false, 3, 2},
                               {"one", "p", false, 2.5, 2},
                               {"one 1.2", "p", false, 2.3, 2},
                               {"one 1.2", "p", true, 3, 5},
                               {"one 1.2", "q", false, 9, 1},
                               {"ones", "p", true, 9, 1}});
    CHECK(models.elsewhere[0].rows == 4);
    CHECK(models.elsewhere[0].errors.tpot == approx((0.5 + 0.5 + 0.25 + 0.15) / 4));
    CHECK(models.elsewhere[0].errors.ttft == approx(0.4));
    CHECK(models.elsewhere[1] == ServerElsewhere{"two", "p", 4, {"a"}, {0.7, 0.6}});
}
