#include "app/request.hpp"
#include "base/approx_test.hpp"
#include "calibrate/analysed_program_test.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace roofline::core;

namespace {

Response validate(std::string table, Format format = Format::json, std::optional<double> max_error = {}) {
    ValidateRequest request;
    request.table = std::move(table);
    request.table_name = "t.csv";
    request.max_error = max_error;
    request.plot = ValidationPlot::scatter;
    request.calibration.none = true;  // bounds only
    return handle(Request{std::move(request), format, false});
}

nlohmann::json answer(std::string table, int exit_code = 0) {
    const Response response = validate(std::move(table));
    CHECK(response.exit_code == exit_code);
    auto json = nlohmann::json::parse(response.out, nullptr, false);
    REQUIRE(json.is_object());
    return json;
}

// An H100 SXM has 450 GB/s to its switch, so an all-gather of 450 kB over 8 chips takes at least 0.875 us.
constexpr const char* collective_head = "op,system,n_devices,bytes,time_us,note\n";

}  // namespace

TEST_CASE("every row that can be is compared, and the others are counted by reason") {
    const auto json =
        answer(std::string(collective_head) + "all_gather,h100_sxm,8,450000,1,\nall_gather,h100_sxm,8,450000,2,\n" +
               "all_gather,x,8,450000,1,\nall_gather,x,8,450000,1,\nall_gather,h100_sxm,9,450000,1,\n");
    CHECK(json["rows"] == 2);
    CHECK(json["skipped"] == 3);
    CHECK(json["skipped_by"].size() == 2);
    CHECK(json["skipped_by"][0]["rows"] == 2);
    CHECK(json["skipped_by"][0]["first_line"] == 4);
    CHECK(json["error_of"] == "lower");
    // The errors are 0.125 and 0.5625.
    CHECK(json["error"]["mean"].get<double>() == approx((0.125 + 0.5625) / 2));
}

TEST_CASE("every row without an expected time is counted with its reason") {
    // four times of an unknown server in two rows, and three of a known one
    const std::string head =
        "model,accelerator,n_accel,tp,dtype,input_len,output_len,batch_or_concurrency,ttft_s,"
        "tpot_s,tokens_per_s,software\n";
    const std::string table = head + "Llama-3.1-8B,h100_sxm,1,1,bf16,1024,256,16,0.1,0.01,,homemade 1.0\n" +
                              "Llama-3.1-8B,h100_sxm,1,1,bf16,1024,256,32,0.1,0.01,,homemade 1.0\n" +
                              "Llama-3.1-8B,h100_sxm,1,1,bf16,1024,256,16,0.1,0.01,1000,vllm 0.14.0\n";
    ValidateRequest request;
    request.table = table;
    request.table_name = "t.csv";
    const auto json = nlohmann::json::parse(handle(Request{request, Format::json, false}).out, nullptr, false);
    REQUIRE(json.is_object());
    CHECK(json["rows"] == 7);
    CHECK(json["error_rows"] == 3);
    REQUIRE(json["not_expected_by"].size() == 1);
    CHECK(json["not_expected_by"][0]["rows"] == 4);
    CHECK(json["not_expected_by"][0]["first_line"] == 2);
    CHECK(json["not_expected_by"][0]["reason"] == "`homemade 1.0` has no constants");
    const auto says = [&](Format format, std::string_view text) {
        return handle(Request{request, format, false}).out.find(text) != std::string::npos;
    };
    CHECK(says(Format::text, "without an expected time\n  - 4 rows from line 2: `homemade 1.0` has no constants"));
    CHECK(says(Format::markdown, "without an expected time:\n\n- 4 rows from line 2: `homemade 1.0` has no constants"));
    CHECK(says(Format::csv, ",llama-3.1-8b,aggregated,`homemade 1.0` has no constants\n"));
    // where nothing is calibrated the reason is that
    CHECK(answer(std::string(collective_head) + "all_gather,h100_sxm,8,450000,1,\n")["not_expected_by"][0]["reason"] ==
          "no calibration covers it");
}

TEST_CASE("frontiers of served models are told and drawn") {
    // 16 and 32 requests of 256 tokens at a time: 16 * 256 / (0.1 + 255 * 0.01) and 32 * 256 / (0.2 + 255 * 0.0125)
    ValidateRequest request;
    request.table =
        "model,accelerator,n_accel,tp,dtype,input_len,output_len,batch_or_concurrency,ttft_s,tpot_s,software\n"
        "Llama-3.1-8B,h100_sxm,1,1,bf16,1024,256,16,0.1,0.01,vllm 0.14.0\n"
        "Llama-3.1-8B,h100_sxm,1,1,bf16,1024,256,32,0.2,0.0125,vllm 0.14.0\n";
    request.table_name = "t.csv";
    request.plot = ValidationPlot::frontier;
    const Response response = handle(Request{request, Format::json, false});
    const auto json = nlohmann::json::parse(response.out, nullptr, false);
    REQUIRE(json["frontiers"].is_object());
    CHECK(json["frontiers"]["points"] == 2);
    REQUIRE(json["frontiers"]["curves"].size() == 1);
    const auto& curve = json["frontiers"]["curves"][0];
    CHECK(curve["model"] == "llama-3.1-8b");
    CHECK(curve["slice"] == "h100-sxm5:1");
    REQUIRE(curve["points"].size() == 2);
    CHECK(curve["points"][0]["concurrency"] == 32);
    CHECK(curve["points"][0]["measured"]["tokens_per_s_per_user"].get<double>() == approx(80));
    CHECK(curve["points"][0]["measured"]["tokens_per_s_per_chip"].get<double>() == approx(32 * 256 / 3.3875));
    CHECK(curve["points"][1]["measured"]["tokens_per_s_per_chip"].get<double>() == approx(16 * 256 / 2.65));
    CHECK(curve["points"][1]["expected"]["tokens_per_s_per_user"].get<double>() > 50);
    CHECK(response.svg.find("llama-3.1-8b on h100-sxm5, 1024 prompt and 256 output tokens") != std::string::npos);
    CHECK(response.svg.find("h100-sxm5:1, tp1, vllm 0.14.0, measured") != std::string::npos);
    CHECK(handle(Request{request, Format::text, false}).out.find("error of tokens/s per chip") != std::string::npos);
    // a single point is no curve
    ValidateRequest single = request;
    single.table = single.table.substr(0, single.table.rfind("Llama"));
    CHECK(handle(Request{single, Format::text, false}).error.value_or(Error{}).code == "no_plot");
    // without expected times there is none
    request.calibration.none = true;
    const Response none = handle(Request{request, Format::text, false});
    CHECK(none.exit_code == 2);
    REQUIRE(none.error);
    CHECK(none.error->code == "no_plot");
}

TEST_CASE("a row faster than its bound fails, unless its time was rounded that far") {
    CHECK(answer(std::string(collective_head) + "all_gather,h100_sxm,8,450000,0.8,\n", 1)["below_lower"] == 1);
    CHECK(answer(std::string(collective_head) + "all_gather,h100_sxm,8,450000,0.8,timer 1us\n")["below_lower"] == 0);
    CHECK(answer(std::string(collective_head) + "all_gather,h100_sxm,8,450000,0.3,timer 1us\n", 1)["below_lower"] == 1);
}

// An Arc Pro B60 has 31.5 GB/s to its peers. The three other members' 1 MB reach it in an all-gather, and three
// quarters of one in a reduce-scatter.
TEST_CASE("a system's table may list the bytes of one member") {
    const std::string row = ",Intel Arc Pro B60 PCIe5 x8,4,1000000,200,\n";
    const double rate = 31.507692308e9;
    CHECK(answer(collective_head + ("all_gather" + row))["worst"][0]["lower_s"] == approx(3e6 / rate));
    CHECK(answer(collective_head + ("reduce_scatter" + row))["worst"][0]["lower_s"] == approx(0.75e6 / rate));
}

TEST_CASE("the mean error may be limited") {
    const std::string table = std::string(collective_head) + "all_gather,h100_sxm,8,450000,1,\n";  // 12.5 %
    CHECK(validate(table, Format::json, 0.13).exit_code == 0);
    CHECK(validate(table, Format::json, 0.12).exit_code == 1);
}

TEST_CASE("a table without a row to compare is a negative answer in every format") {
    for (const Format format : {Format::text, Format::json, Format::csv, Format::markdown}) {
        const Response response = validate(collective_head, format);
        CHECK(response.exit_code == 1);
        CHECK(!response.error);
        CHECK(!response.out.empty());
        CHECK(response.svg.find("</svg>") != std::string::npos);
    }
}

TEST_CASE("a table with more systems than anybody has is answered at once") {
    std::string table = collective_head;
    for (int i = 0; i < 12'000; ++i) table += "all_gather,s" + std::to_string(i) + ",8,450,1,\n";
    const auto json = answer(std::move(table), 1);
    CHECK(json["skipped"] == 12'000);
    CHECK(json["skipped_by"].size() <= 1001);
}

namespace {

/// 100 TFLOP/s of bf16, 1 TB/s, and 1 MB of L2 at 10 TB/s.
const std::string slow_toy = std::string(toy_machine_text) + R"([[memory]]
level = "l2"
[memory.capacity]
value = "1 MB"
basis = "spec"
source = "made up"
[memory.bandwidth]
value = "10 TB/s"
basis = "spec"
source = "made up"
)";

nlohmann::json kernels_on_toy(std::string table, std::string machine = slow_toy) {
    ValidateRequest request;
    request.table = std::move(table);
    request.table_name = "t.csv";
    request.machines = {{"toy.toml", std::move(machine), {}}};
    const Response response = handle(Request{std::move(request), Format::json, false});
    auto json = nlohmann::json::parse(response.out, nullptr, false);
    REQUIRE_MESSAGE(json.contains("rows"), response.out);
    return json;
}

const std::string products = "accelerator,dtype_in,dtype_out,m,n,k,time_us\n";

}  // namespace

TEST_CASE("kernels are compared as the programs that they are") {
    // 2 * 4096^3 FLOPs at 100 TFLOP/s take 1374.39 us; softmax reads and writes 2 * 4096 * 4096 bytes each, 67.1 us.
    const auto json = kernels_on_toy(products + "x,bf16,bf16,4096,4096,4096,2000\n");
    CHECK(json["table"] == "kernel");
    CHECK(json["rows"] == 1);
    CHECK(json["worst"][0]["shape"] == "M=4096, N=4096, K=4096");
    CHECK(json["worst"][0]["lower_s"].get<double>() == approx(1374.389535e-6));
    CHECK(json["worst"][0]["bytes"] == 3 * 4096 * 4096 * 2);
    CHECK(json["below_lower"] == 0);
    const auto soft = kernels_on_toy("accelerator,op,shape,dtype,time_us\nx,softmax,4096x4096,bf16,100\n");
    CHECK(soft["worst"][0]["lower_s"].get<double>() == approx(67.108864e-6));
    // Eight sequences of 1024 tokens, 16 heads of 64: two matmuls of 2*8*16*1024*1024*64 FLOPs, half of them masked.
    const auto attention = kernels_on_toy(
        "accelerator,phase,dtype,batch,q_len,kv_len,heads,kv_heads,head_dim,time_us\nx,prefill,bf16,8,1024,1024,16,16,"
        "64,500\n");
    CHECK(attention["rows"] == 1);
    CHECK(attention["worst"][0]["lower_s"].get<double>() >= 171.79869e-6);
}

TEST_CASE("a kernel faster than main memory may have had its data in a cache that holds them") {
    // 132,096 bytes take 0.132 us from main memory and 0.0132 us from L2.
    CHECK(kernels_on_toy(products + "x,bf16,bf16,1,256,256,0.2\n")["cached"] == 0);
    const auto cached = kernels_on_toy(products + "x,bf16,bf16,1,256,256,0.05\n");
    CHECK(cached["cached"] == 1);
    CHECK(cached["below_lower"] == 0);
    CHECK(kernels_on_toy(products + "x,bf16,bf16,1,256,256,0.012\n")["below_lower"] == 1);
    // 8,396,800 bytes do not fit into L2 and take 8.40 us; without the 1 MB that may have stayed in L2 they take 7.40
    // us.
    CHECK(kernels_on_toy(products + "x,bf16,bf16,1,2048,2048,7.5\n")["cached"] == 1);
    const auto large = kernels_on_toy(products + "x,bf16,bf16,1,2048,2048,7\n");
    CHECK(large["cached"] == 0);
    CHECK(large["below_lower"] == 1);
}

TEST_CASE("constants in the machine's file predict the table's rows") {
    const std::string calibrated = slow_toy +
                                   "[calibration]\n[[calibration.kernel]]\nkind = \"contraction\"\ndtype = \"bf16\"\n"
                                   "rows = 10\nsources = []\ntime_us = [1, 10]\nerror_held_out = 0.1\nfixed_us = 100\n"
                                   "math = 0.5\nmemory = 0.5\n";
    const std::string table = products + "x,bf16,bf16,4096,4096,4096,3000\nx,bf16,int32,4096,4096,4096,3000\n";
    const auto json = kernels_on_toy(table, calibrated);
    CHECK(json["error_of"] == "expected");
    // 100 us plus twice the bound of 1374.39 us.
    CHECK(json["worst"][0]["expected_s"].get<double>() == approx(2848.77907e-6));
    CHECK(json["error"]["mean"].get<double>() == approx(1 - 2848.77907 / 3000));
    // f16 takes the model of bf16
    const auto of_f16 = kernels_on_toy(products + "x,f16,f16,4096,4096,4096,3000\n", calibrated);
    CHECK(of_f16["error_of"] == "expected");
}

TEST_CASE("a kernel whose model finds its data in the cache is expected to be as fast as that") {
    const std::string calibrated =
        slow_toy +
        "[calibration]\n[[calibration.kernel]]\nkind = \"contraction\"\ndtype = \"bf16\"\n"
        "rows = 10\nsources = []\ntime_us = [0.01, 10]\nerror_held_out = 0.1\nwarm = 0.5\ncache = 4\n";
    // 132,096 bytes are an eighth of the cache, so all but 1/(1 + 4^6) of them are read at 4 TB/s.
    const auto json = kernels_on_toy(products + "x,bf16,bf16,1,256,256,0.05\n", calibrated);
    CHECK(json["worst"][0]["expected_s"].get<double>() == approx(0.033e-6).epsilon(0.01));
    CHECK(json["worst"][0]["lower_s"].get<double>() == approx(0.132096e-6));
}

TEST_CASE("no published time is below its bound") {
    for (const std::string name : {"collective_published.csv", "collective_measured.csv"}) {
        const auto text = shared_text("measured/" + name);
        if (!text) continue;
        const auto json = answer(*text);
        CHECK(json["below_lower"] == 0);
        CHECK(json["rows"].get<int>() + json["skipped"].get<int>() > 6000);
        // The only rows that are skipped are those that data/systems.toml excludes.
        for (const auto& each : json["skipped_by"]) {
            CHECK(each["reason"].get<std::string>().find(" is left out: ") != std::string::npos);
        }
    }
}

TEST_CASE("a cell that is no number costs its row, or with --strict the table") {
    ValidateRequest request;
    request.table_name = "t.csv";
    request.table =
        "op,system,n_devices,bytes,time_us\n"
        "all_gather,h100_sxm,8,1e9,3000\nall_gather,h100_sxm,8,n/a,3000\nall_gather,h100_sxm,8,2e9,6000\n";
    const auto response = handle(request, Format::json);
    REQUIRE(response);
    const auto json = nlohmann::json::parse(response->out);
    CHECK(json["rows"] == 2);
    CHECK(json["skipped_by"].dump().find("`n/a` in column `bytes` is not a positive number") != std::string::npos);
    request.strict = true;
    const auto refused = handle(request, Format::json);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "bad_number");
    CHECK(refused.error().place->line == 3);
}
