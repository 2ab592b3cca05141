#include "import/collective_table.hpp"

#include <doctest/doctest.h>

#include <map>

#include "base/approx_test.hpp"
#include "calibrate/collective/expected_collective.hpp"
#include "import/measurement_notes.hpp"
#include "text/shared_text_test.hpp"

using namespace roofline::core;

namespace {

Result<CollectiveTable> read(std::string_view text) {
    auto reader = CsvReader::open(text, "t.csv");
    if (!reader) return fail(reader.error());
    return read_collective_table(*reader);
}

MeasuredCollective noted(std::string_view note, double size = 1e6, double time_s = 1e-3) {
    MeasuredCollective row;
    row.size = size;
    row.time_s = time_s;
    apply_note(note, row);
    return row;
}

}  // namespace

TEST_CASE("rows have the bytes of the whole array") {
    const auto table = read(
        "op,system,n_devices,n_nodes,bytes,time_us\n"
        "all_gather,s,4,1,1000,5\n"
        "reduce_scatter,s,4,,1000,5\n"
        "AllReduce,s,4,2,1000,5\n"
        "alltoall,s,4,2,1000,5\n"
        "collective_permute,s,4,2,1000,5\n"
        "send_recv,s,2,2,1000,5\n");
    REQUIRE(table);
    REQUIRE(table->rows.size() == 6);
    const double bytes[] = {1000, 1000, 1000, 4000, 4000, 2000};
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(table->rows[i].bytes == bytes[i]);
        CHECK(table->rows[i].size == 1000);
        CHECK(table->rows[i].time_s == approx(5e-6));
        CHECK(table->rows[i].line == static_cast<int>(i) + 2);
    }
    CHECK(table->rows[1].nodes == 1);
    CHECK(table->rows[2].kind == CollectiveKind::all_reduce);
    CHECK(table->rows[2].nodes == 2);
}

TEST_CASE("a rate replaces a missing time") {
    // busbw is 2(n-1)/n of size over time for an all-reduce, (n-1)/n for an all-gather: 1.75 and 0.875 of 1 GB/s
    const auto table = read(
        "op,accelerator,n_devices,bytes,time_s,busbw_GBs,algbw_GBs\n"
        "all_reduce,s,8,1e9,,1.75,\n"
        "all_gather,s,8,1000000000,,0.875,\n"
        "all_gather,s,8,1000000000,,,2\n"
        "all_gather,s,8,1000000000,4,2,2\n");
    REQUIRE(table);
    const double seconds[] = {1, 1, 0.5, 4};
    for (std::size_t i = 0; i < 4; ++i) CHECK(table->rows[i].time_s == approx(seconds[i]));
}

TEST_CASE("incomplete rows are skipped with the reason") {
    const auto table = read(
        "op,system,n_devices,bytes,time_us\n"
        ",s,4,1000,5\n"
        "broadcast,s,4,1000,5\n"
        "all_gather,,4,1000,5\n"
        "all_gather,s,1,1000,5\n"
        "all_gather,s,,1000,5\n"
        "all_gather,s,4,,5\n"
        "all_gather,s,4,1000,\n");
    REQUIRE(table);
    CHECK(table->rows.empty());
    const std::string_view reasons[] = {"op is empty",        "the operation `broadcast` is unknown",
                                        "system is empty",    "one device sends nothing",
                                        "n_devices is empty", "bytes is empty",
                                        "the time is empty"};
    REQUIRE(table->skipped.size() == 7);
    for (std::size_t i = 0; i < 7; ++i) {
        CHECK(table->skipped[i].reason == reasons[i]);
        CHECK(table->skipped[i].line == static_cast<int>(i) + 2);
    }
}

TEST_CASE("a value that is not a number is an error with its place") {
    const auto place_of = [](std::string_view row) {
        const auto table = read("op,system,n_devices,bytes,time_us\n" + std::string(row));
        REQUIRE(!table);
        CHECK(table.error().code == "bad_number");
        CHECK(table.error().place->line == 2);
        return table.error().place->column;
    };
    CHECK(place_of("all_gather,s,x,1000,5") == 14);
    CHECK(place_of("all_gather,s,2.5,1000,5") == 14);
    CHECK(place_of("all_gather,s,-2,1000,5") == 14);
    CHECK(place_of("all_gather,s,1e19,1000,5") == 14);
    CHECK(place_of("all_gather,s,2,0,5") == 16);
    CHECK(place_of("all_gather,s,2,nan,5") == 16);
    CHECK(place_of("all_gather,s,2,10,inf") == 19);
    CHECK(place_of("all_gather,s,2,10,5 us") == 19);
    CHECK(read("op,system,bytes,time_us\n").error().code == "bad_table");
    CHECK(read("op,n_devices,bytes,time_us\n").error().code == "bad_table");
}

TEST_CASE("software and launch are extracted from free text") {
    CHECK(software_in("NCCL 2.27.3 (file says 2.29.2)") == "nccl 2.27.3");
    CHECK(software_in("aic:nccl-2.27.3") == "nccl 2.27.3");
    CHECK(software_in("sglang-jax; output tokens/s") == "sglang-jax");
    CHECK(software_in("sglang 0.5.9; TTFT to 0.1 s") == "sglang 0.5.9");
    CHECK_FALSE(same_library("sglang-jax", "sglang"));
    CHECK(same_library("sglang-jax 0.1.0", "sglang-jax"));
    CHECK(same_library("nccl-2.29", "nccl"));
    CHECK(software_in("aic:trtllm-1.3.0rc20") == "trtllm 1.3.0rc20");
    CHECK(software_in("oneCCL 2021.17.2 (file says 2021.17.2-5)") == "oneccl 2021.17.2");
    CHECK(software_in("RCCL (ROCm 7.0)") == "rccl rocm-7.0");
    CHECK(software_in("RCCL rccl-tests a52452e") == "rccl");
    CHECK(software_in("XLA:GPU sm_100_GB200") == "xla");
    CHECK(software_in("NCCL") == "nccl");
    CHECK(software_in("a laptop").empty());
    CHECK(software_in("xlarge").empty());

    CHECK(noted("custom_ar vLLM_custom_eager").variant() == "custom eager");
    CHECK(noted("custom_ar SGLang_CustomAllReduce_graph").variant() == "custom graph");
    CHECK(noted("custom one-shot").variant() == "one-shot");
    CHECK(noted("NVLS, in-place").variant() == "nvls in-place");
    CHECK(noted("out-of-place; node count inferred").variant().empty());
    CHECK(noted("ring/pairwise pattern, 8 source-target pairs").variant().empty());
    CHECK(noted("16 concurrent groups; throughput quantised to 0.01 GB/s").groups == 16);
    CHECK(noted("fp16 nccl-tests").dtype == Dtype::f16);
}

TEST_CASE("the rounding of a table is recognised") {
    // a clock of 1 us has a rounding error of at most half a microsecond
    CHECK(noted("torch.distributed; timer 1us").rounding_s == approx(0.5e-6));
    // 1e6 bytes in 1 ms are 1 GB/s; half a step of 0.01 GB/s is 0.5 % of the rate and of the time
    CHECK(noted("throughput quantised to 0.01 GB/s").rounding_s == approx(5e-6));
    CHECK(noted("median of 2 runs").rounding_s == 0);
}

TEST_CASE("published tables are read completely") {
    const std::map<std::string, std::size_t> rows{{"collective_published.csv", 7857},
                                                  {"collective_measured.csv", 6672}};
    for (const auto& [name, count] : rows) {
        const auto text = shared_text("measured/" + name);
        if (!text) continue;
        const auto table = read(*text);
        REQUIRE(table);
        CHECK(table->rows.size() == count);
        CHECK(table->skipped.empty());
    }
}
