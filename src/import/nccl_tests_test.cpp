#include "import/nccl_tests.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace roofline::core;

namespace {

std::string devices(int count, const std::string& host = "node1", int from = 0) {
    std::string text;
    for (int i = 0; i < count; ++i) {
        text += "#  Rank  " + std::to_string(from + i) + " Group  0 Pid  93200 on " + host + " device  " +
                std::to_string(i) + " [0000:f9:05] NVIDIA H100 80GB HBM3\n";
    }
    return text;
}

std::string start(const std::string& test, const std::string& listed) {
    return "# nccl-tests version 2.17.1 nccl-headers=22703 nccl-library=22703\n# Collective test starting: " + test +
           "\n# nThread 1 nGpus 8 minBytes 8 maxBytes 1073741824 step: 4(factor) warmup iters: 5 iters: 20 agg iters: "
           "1 "
           "validation: 1 graph: 0\n#\n# Using devices\n" +
           listed;
}

const std::string heading =
    "#\n#                                  out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";

CollectiveTable exchanges_of(const std::string& text, const NcclHints& hints = {}) {
    auto table = read_nccl_tests(text, "nccl.txt", hints);
    REQUIRE_MESSAGE(table, (table ? "" : table.error().message));
    return *table;
}

Error refused_exchanges(const std::string& text, const NcclHints& hints = {}) {
    const auto table = read_nccl_tests(text, "nccl.txt", hints);
    REQUIRE_FALSE(table);
    return table.error();
}

}  // namespace

TEST_CASE("a size gives a row out of place and one in place") {
    // 2 * 7/8 = 1.75 times: 34.95 GB/s give a bus bandwidth of 61.17
    const auto table =
        exchanges_of(start("all_reduce_perf", devices(8)) + heading +
                     "  1048576   262144  float  sum  -1   30.00   34.95   61.17   0   29.5   35.54   62.20   N/A\n");
    REQUIRE(table.rows.size() == 2);
    const MeasuredCollective& out = table.rows[0];
    CHECK(out.kind == CollectiveKind::all_reduce);
    CHECK(out.members == 8);
    CHECK(out.nodes == 1);
    CHECK(out.system == "NVIDIA H100 80GB HBM3");
    CHECK(out.software == "nccl 2.27.3");
    CHECK(out.size == 1048576);
    CHECK(out.bytes == 1048576);
    CHECK(out.time_s == approx(30e-6));
    CHECK(out.rounding_s == approx(0.005e-6));
    CHECK_FALSE(out.in_place);
    CHECK(out.line == 18);  // after three lines, #, "Using devices", eight devices, four lines of heading
    CHECK(table.rows[1].in_place);
    CHECK(table.rows[1].time_s == approx(29.5e-6));
    CHECK(table.rows[1].rounding_s == approx(0.05e-6));
}

TEST_CASE("a file may contain several runs, each with its operation and its ranks") {
    const auto table = exchanges_of(
        "$ ./build/all_gather_perf -g 2\n# nThread 1 nGpus 2 minBytes 8 maxBytes 8 graph: 0\n# Using devices\n" +
        devices(2) + heading + "  8  1  float  none  -1  5.0  0.00  0.00  0  5.0  0.00  0.00  0\n" +
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0\n" +
        start("alltoall_perf", devices(2, "a") + devices(2, "b", 2)) + heading +
        "  64  4  float  none  -1  6.0  0.00  0.00  0  6.0  0.00  0.00  N/A\n");
    REQUIRE(table.rows.size() == 4);
    CHECK(table.rows[0].kind == CollectiveKind::all_gather);
    CHECK(table.rows[0].members == 2);
    CHECK(table.rows[2].kind == CollectiveKind::all_to_all);
    CHECK(table.rows[2].members == 4);
    CHECK(table.rows[2].nodes == 2);
    CHECK(table.rows[2].bytes == 256);  // 64 bytes per rank
}

TEST_CASE("columns at the front may be blank, and a time of day may follow") {
    const std::string old =
        "# nThread 1 nGpus 2 graph: 0\n" + devices(2) +
        "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "  8  1  float   5.0  0.00  0.00  0e+00  4.0  0.00  0.00  0e+00\n";
    const auto table = exchanges_of(old, {CollectiveKind::reduce_scatter, 0});
    REQUIRE(table.rows.size() == 2);
    CHECK(table.rows[0].time_s == approx(5e-6));
    CHECK(table.rows[1].time_s == approx(4e-6));
    const auto stamped = exchanges_of(
        start("all_reduce_perf", devices(2)) +
        "#   size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong  timestamp\n"
        "  8  1  float  sum  -1  5.0  0.00  0.00  0  4.0  0.00  0.00  0  2030-01-02 03:04:05\n");
    CHECK(stamped.rows[0].time_s == approx(5e-6));
    CHECK(stamped.rows[1].time_s == approx(4e-6));
}

TEST_CASE("truncated rows, rows of zero bytes and rows of other operations are skipped") {
    const auto table = exchanges_of(start("all_reduce_perf", devices(2)) + heading +
                                    "  0  0  float  sum  -1  5.0  0.00  0.00  0  5.0  0.00  0.00  0\n"
                                    "  8  2  float  sum  -1  5.0  0.00  0.00  0  5.0  0.00  0.00  0\n"
                                    "  16  4  float  sum  -1  5.0  0.00  0.00  0  5.");
    CHECK(table.rows.size() == 2);
    REQUIRE(table.skipped.size() == 3);
    CHECK(table.skipped[0].reason == "no bytes are sent");
    CHECK(table.skipped[2].reason == "its line is cut off");
    const auto other = exchanges_of(start("broadcast_perf", devices(2)) + heading +
                                    "  8  2  float  none  0  5.0  0.00  0.00  0  5.0  0.00  0.00  0\n");
    CHECK(other.rows.empty());
    CHECK(other.skipped.front().reason == "the operation `broadcast` is unknown");
}

TEST_CASE("meaningless and contradictory rows are errors with their place") {
    const std::string row = "  8  2  float  sum  -1  5.0  0.00  0.00  3  5.0  0.00  0.00  0\n";
    const Error wrong = refused_exchanges(start("all_reduce_perf", devices(2)) + heading + row);
    CHECK(wrong.code == "wrong_results");
    REQUIRE(wrong.place);
    CHECK(wrong.place->line == 12);
    const std::string good = "  8  2  float  sum  -1  5.0  0.00  0.00  0  5.0  0.00  0.00  0\n";
    CHECK(refused_exchanges("# nThread 1\n" + devices(2) + heading + good).code == "no_operation");
    CHECK(refused_exchanges("# Collective test starting: all_reduce_perf\n# nThread 1\n" + heading + good).code ==
          "no_ranks");
    // 10 and 17.5 GB/s belong to an all-reduce over 8; an all-gather has 7/8
    const std::string fast = "  8  2  float  sum  -1  5.0  10.0  17.5  0  5.0  10.0  17.5  0\n";
    CHECK(refused_exchanges(start("all_gather_perf", devices(8)) + heading + fast).code == "contradiction");
    CHECK(exchanges_of(start("all_reduce_perf", devices(8)) + heading + fast).rows.size() == 2);
    CHECK(refused_exchanges(start("all_reduce_perf", devices(2)) + heading).code == "no_rows");
    std::string cpu = heading;
    cpu.replace(cpu.find(" time "), 6, " cputime ");
    CHECK(refused_exchanges(start("all_reduce_perf", devices(2)) + cpu + good).code == "cpu_time");
}

TEST_CASE("hints supply what the output lacks") {
    const std::string text = "# nThread 1 nGpus 4 graph: 1\n" + heading +
                             "  8  2  float  none  -1  5.0  0.00  0.00  0  5.0  0.00  0.00  0\n";
    const auto table = exchanges_of(text, {CollectiveKind::all_gather, 4});
    CHECK(table.rows[0].kind == CollectiveKind::all_gather);
    CHECK(table.rows[0].members == 4);
    CHECK(table.rows[0].launch == "graph");
}

TEST_CASE("nccl-tests output is recognised by its column headings, not by words in a field") {
    CHECK(is_nccl_tests("# nThread 1\n#    out-of-place    in-place\n"));
    CHECK_FALSE(is_nccl_tests("source,op,bytes,busbw_GBs,notes\nx,all_reduce,8,1,\"in-place, not out-of-place\"\n"));
    CHECK_FALSE(is_nccl_tests(""));
}

TEST_CASE("the same run as JSON") {
    const std::string json = R"({"version": 3, "args": ["./build/reduce_scatter_perf", "-g", "4"], "nccl_version": 2804,
 "config": {"nthreads": 1, "ngpus": 4, "graph": 0,
  "devices": [{"rank": 0, "group": 0, "hostname": "a", "device_info": "NVIDIA H100"},
              {"rank": 4, "group": 0, "hostname": "b", "device_info": "NVIDIA H100"}]},
 "results": [
  {"size": 1024, "count": 32, "type": "float", "redop": "sum", "root": "-1",
   "out_of_place": {"time": 12.5, "alg_bw": 0.08, "bus_bw": 0.07, "nwrong": 0},
   "in_place": {"time": 11.5, "alg_bw": 0.09, "bus_bw": 0.08, "nwrong": null}},
  {"size": 2048, "out_of_place": null, "in_place": {"time": "nan", "alg_bw": 0, "bus_bw": 0, "nwrong": 0}}]})";
    CHECK(is_nccl_tests(json));
    const auto table = exchanges_of(json);
    REQUIRE(table.rows.size() == 2);
    CHECK(table.rows[0].kind == CollectiveKind::reduce_scatter);
    CHECK(table.rows[0].members == 8);  // two processes of four devices
    CHECK(table.rows[0].nodes == 2);
    CHECK(table.rows[0].software == "nccl 2.8.4");
    CHECK(table.rows[0].time_s == approx(12.5e-6));
    CHECK(table.rows[0].line == 7);
    CHECK(table.rows[1].in_place);
    CHECK(table.skipped.size() == 1);
    const Error wrong = refused_exchanges(R"({"args": ["all_reduce_perf"], "config": {"devices": [{}, {}]},
 "results": [{"size": 8, "out_of_place": {"time": 5, "nwrong": 2}}]})");
    CHECK(wrong.code == "wrong_results");
    CHECK(wrong.place->line == 2);
    CHECK(refused_exchanges(json.substr(0, json.size() - 20)).code == "cut_off");
}
