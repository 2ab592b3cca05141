#include "report/run/run_figures.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

/// Two runs on an uncalibrated machine; the second one was disturbed, and its result is wrong.
RunAnswer two_runs() {
    RunAnswer answer;
    answer.device = "a device";
    answer.axes = {SweepAxis{{"B"}, {1, 2}}};
    RunPoint point;
    point.at = {1};
    point.flops = 1e9;
    point.bytes = 4e6;
    point.cold = {0.002, 0.001, 0.004, 0.001, 9, 10, false};
    point.hot = {0.001, 0.001, 0.001, 0.001, 9, 10, false};
    point.max_rel_error = 0.25;
    answer.points = {point, point};
    answer.points.back().at = {2};
    answer.points.back().cold.disturbed = true;
    answer.points.back().of_bound = 3;
    answer.points.back().worst = "[0]";
    return answer;
}

}  // namespace

TEST_CASE("runs of a sweep as a table, for programs and for people") {
    CHECK(table_csv(run_table(two_runs(), true)) ==
          "B,measured_s,measured_p5_s,measured_p95_s,disturbed,hot_s,flop_per_s,bytes_per_s,max_rel_error\n"
          "1,0.002,0.001,0.004,false,0.001,500000000000,2000000000,0.25\n"
          "2,0.002,0.001,0.004,true,0.001,500000000000,2000000000,0.25\n");
    CHECK(table_markdown(run_table(two_runs(), false)) ==
          "| B | measured | hot | FLOP/s | B/s | error |\n"
          "|---:|---:|---:|---:|---:|---:|\n"
          "| 1 | 2 ms | 1 ms | 500 GFLOP/s | 2 GB/s | 2e-01 |\n"
          "| 2 | 2 ms ? | 1 ms | 500 GFLOP/s | 2 GB/s | WRONG |\n");
}

TEST_CASE("runs as JSON: the keys of `op`, null without a machine, and what was measured") {
    const std::string json = run_json(two_runs());
    CHECK(json.starts_with(
        R"({"schema":1,"sweep":[{"machine":null,"flops":1000000000.0,"lower_s":null,"expected_s":null,"upper_s":null,)"
        R"("notes":[],"sources":[],"swept":{"B":1},"device":"a device","measured_s":0.002,)"
        R"("measured_spread":{"p5":0.001,"p95":0.004,"best":0.001,"samples":9,"tried":10,"disturbed":false},)"
        R"("hot_s":0.001,)"));
    CHECK(json.ends_with(R"("roofline_fraction":null,"flop_per_s":500000000000.0,"bytes_per_s":2000000000.0,)"
                         R"("sets":{"count":1,"bytes":0.0},)"
                         R"("weights":{"bytes":0.0,"layout_s":0.0},"check":{"max_rel_error":0.25,"of_bound":3.0,)"
                         R"("elements":0,"right":false,"worst":"[0]"}}]})"
                         "\n"));
}
