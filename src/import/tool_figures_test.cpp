#include "import/tool_figures.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace roofline::core;

namespace {

ToolFigures figures_of(const std::string& text) {
    auto figures = read_tool_figures(text, "file");
    REQUIRE_MESSAGE(figures, (figures ? "" : figures.error().message));
    return *figures;
}

Error refused(const std::string& text) {
    const auto figures = read_tool_figures(text, "file");
    REQUIRE_FALSE(figures);
    return figures.error();
}

std::string level_of(const ToolFigure& figure) {
    const auto* bandwidth = std::get_if<ToolBandwidth>(&figure.what);
    return bandwidth == nullptr ? "none" : bandwidth->level;
}

ToolRate rate_of(const ToolFigure& figure) {
    const auto* rate = std::get_if<ToolRate>(&figure.what);
    REQUIRE(rate != nullptr);
    return *rate;
}

const std::string likwid_copy =
    R"(Allocate: Process running on hwthread 0 (Domain N) - Vector length 1000/8000 Offset 0 Alignment 512
LIKWID MICRO BENCHMARK
Test: copy_avx
Using 1 work groups
Using 2 threads
Cycles:                 4122722646
Size (Byte):            64000
Size per thread:        32000
Number of Flops:        0
MFlops/s:               0.00
MByte/s:                218000.50
)";

const std::string likwid_peak = R"(LIKWID MICRO BENCHMARK
Test: peakflops_sp_avx_fma
Using 2 threads
Size (Byte):            30000
MFlops/s:               233000.00
MByte/s:                4959.64
)";

const std::string stream = R"(STREAM version $Revision: 5.10 $
This system uses 8 bytes per array element.
Array size = 10000000 (elements), Offset = 0 (elements)
Number of Threads counted = 4
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           25000.0     0.0064       0.0064       0.0065
Triad:          26500.5     0.0091       0.0090       0.0092
Solution Validates: avg error less than 1.000000e-13 on all three arrays
)";

}  // namespace

TEST_CASE("rocprof-compute's table: GB/s and GFLOP/s, with the ends of the interval") {
    const auto figures =
        figures_of("device,HBMBw,HBMBwLow,hbmBwHigh,L2Bw,FP32Flops,MFMABF16Flops\n0,4000,3990,4010,0,120000,N/A\n");
    CHECK(figures.tool == "rocprof-compute");
    REQUIRE(figures.figures.size() == 2);
    CHECK(level_of(figures.figures[0]) == "hbm");
    CHECK(figures.figures[0].value == 4e12);
    CHECK(figures.figures[0].low == 3.99e12);
    CHECK(figures.figures[0].high == 4.01e12);
    CHECK(rate_of(figures.figures[1]).unit == Unit::vector);
    CHECK(rate_of(figures.figures[1]).dtype == Dtype::f32);
    CHECK(figures.figures[1].value == 1.2e14);
    CHECK(figures.left_out == std::vector<std::string>{"L2Bw (not measured)", "MFMABF16Flops (not measured)"});
}

TEST_CASE("several devices give the median and the spread") {
    const auto figures = figures_of("device,HBMBw\n0,4000\n1,4200\n2,4100\n");
    REQUIRE(figures.figures.size() == 1);
    CHECK(figures.figures[0].value == 4.1e12);
    CHECK(figures.figures[0].low == 4e12);
    CHECK(figures.figures[0].high == 4.2e12);
}

TEST_CASE("one column for fp6 and fp4 applies to both") {
    const auto figures = figures_of("devID,MFMA_FLOPs_F6F4,HBMBw\n0,5663000,5300\n");
    REQUIRE(figures.figures.size() == 3);
    CHECK(rate_of(figures.figures[0]).dtype == Dtype::fp6);
    CHECK(rate_of(figures.figures[1]).dtype == Dtype::fp4);
    CHECK(figures.figures[1].value == approx(5.663e15));
}

TEST_CASE("ERT's JSON: levels by name, rates by precision") {
    const auto figures = figures_of(R"({"empirical": {"gbytes": {"data": [["L1", 2000.0], ["L4", 5], ["DRAM", 700.5]]},
                               "gflops": {"data": [["FP32 GFLOPs", 10000], ["GFLOPs", "300"]]}}})");
    REQUIRE(figures.figures.size() == 4);
    CHECK(level_of(figures.figures[0]) == "l1");
    CHECK(figures.figures[0].value == 2e12);
    CHECK(level_of(figures.figures[1]) == "hbm");
    CHECK(figures.figures[1].value == 7.005e11);
    CHECK(rate_of(figures.figures[2]).dtype == Dtype::f32);
    CHECK(rate_of(figures.figures[3]).dtype == Dtype::f64);  // version 1.0 measures doubles
    CHECK(figures.left_out == std::vector<std::string>{"L4 (a machine file has no such level)"});
}

TEST_CASE("likwid-bench: a working set and its threads; peakflops tests are rates") {
    const auto figures = figures_of(likwid_copy + likwid_peak);
    CHECK(figures.tool == "likwid-bench");
    REQUIRE(figures.figures.size() == 2);
    const auto& bandwidth = std::get<ToolBandwidth>(figures.figures[0].what);
    CHECK(figures.figures[0].name == "copy_avx");
    CHECK(figures.figures[0].value == approx(2.180005e11));
    CHECK(bandwidth.level.empty());
    CHECK(bandwidth.working_set == 64000);
    CHECK(bandwidth.threads == 2);
    CHECK(rate_of(figures.figures[1]).dtype == Dtype::f32);
    CHECK(figures.figures[1].value == 2.33e11);
}

TEST_CASE("a truncated likwid-bench run is skipped and reported") {
    const auto figures = figures_of(likwid_copy + "LIKWID MICRO BENCHMARK\nTest: triad\nUsing 2 threads\n");
    CHECK(figures.figures.size() == 1);
    CHECK(figures.left_out == std::vector<std::string>{"triad (its output is cut off)"});
    CHECK(refused("LIKWID MICRO BENCHMARK\nTest: triad\n").code == "no_figures");
}

TEST_CASE("STREAM: MB/s over three arrays") {
    const auto figures = figures_of(stream);
    CHECK(figures.tool == "STREAM");
    REQUIRE(figures.figures.size() == 2);
    CHECK(figures.figures[1].name == "triad");
    CHECK(figures.figures[1].value == 2.65005e10);
    const auto& bandwidth = std::get<ToolBandwidth>(figures.figures[1].what);
    CHECK(bandwidth.working_set == 240e6);  // three arrays of ten million elements of 8 bytes
    CHECK(bandwidth.threads == 4);
}

TEST_CASE("BabelStream: text with its device, and CSV") {
    const auto text = figures_of(
        "BabelStream\nVersion: 5.0\nArray size: 268.4 MB (=0.3 GB)\nTotal size: 805.3 MB (=0.8 GB)\n"
        "Using CUDA device NVIDIA H100 80GB HBM3\nFunction    MBytes/sec  Min (sec)   Max         Average\n"
        "Copy        3072000.000   0.00017     0.00018     0.00017\n");
    CHECK(text.tool == "BabelStream");
    CHECK(text.device == "NVIDIA H100 80GB HBM3");
    REQUIRE(text.figures.size() == 1);
    CHECK(text.figures[0].value == 3.072e12);
    CHECK(std::get<ToolBandwidth>(text.figures[0].what).working_set == approx(805.3e6));
    const auto csv = figures_of(
        "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime\n"
        "Copy,100,1000,8,3000,0.1,0.1,0.1\nInit,1,1000,8,10,1,1,1\n");
    REQUIRE(csv.figures.size() == 1);
    CHECK(csv.figures[0].value == 3e9);
    CHECK(std::get<ToolBandwidth>(csv.figures[0].what).working_set == 24000);
    CHECK(csv.left_out.size() == 1);
}

TEST_CASE("mebibytes are distinguished from megabytes") {
    const auto figures =
        figures_of("BabelStream\nFunction    MiBytes/sec  Min (sec)   Max         Average\nDot   1000.0  1 1 1\n");
    CHECK(figures.figures.front().value == 1000.0 * 1048576);
}

TEST_CASE("files of another kind, wrong numbers and failed runs are errors with their place") {
    CHECK(refused("a,b\n1,2\n").code == "unknown_file");
    CHECK(refused("{\"results\": []}").code == "unknown_file");
    CHECK(refused("").code == "empty_file");
    CHECK(refused("{\"empirical\": {\"gbytes\": {\"data\": [[\"L1\", ").code == "cut_off");
    const Error word = refused("device,HBMBw\n0,fast\n");
    CHECK(word.code == "bad_number");
    REQUIRE(word.place);
    CHECK(word.place->line == 2);
    CHECK(word.place->column == 3);
    const Error failed = refused("STREAM\nFunction  Best Rate MB/s\nFailed Validation on array a[]\nCopy: 25000.0\n");
    CHECK(failed.code == "failed_run");
    CHECK(failed.place->line == 3);
    const Error ert = refused("{\"empirical\": {\"gbytes\": {\n \"data\": [[\"L1\", -5]]}}}");
    CHECK(ert.code == "bad_number");
    CHECK(ert.place->line == 2);
    CHECK(ert.place->column == 18);
    CHECK(refused("device,HBMBw\n0,1e30\n").code == "out_of_range");
    CHECK(refused("device,HBMBw\n0,1e-9\n").code == "out_of_range");
    CHECK(refused("LIKWID MICRO BENCHMARK\nTest: copy\nMByte/s: \x1b[31m12\n").code == "not_text");
}
