#include "import/serving_table.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

ServingTable servings_of(const std::string& rows) {
    static std::string text;
    text =
        "source,model,accelerator,n_accel,tp,pp,ep,dp,dtype,kv_dtype,mode,input_len,output_len,batch_or_concurrency,"
        "ttft_s,tpot_s,tokens_per_s,notes\n" +
        rows;
    auto reader = CsvReader::open(text, "t.csv");
    REQUIRE(reader);
    REQUIRE(is_serving_table(reader->header()));
    auto table = read_serving_table(*reader);
    REQUIRE_MESSAGE(table, table.error().message);
    return std::move(*table);
}

MeasuredServing one(const std::string& row) {
    ServingTable table = servings_of(row + "\n");
    REQUIRE(table.rows.size() == 1);
    return table.rows.front();
}

std::string error_of(const std::string& row) {
    const std::string text = "model,accelerator,tp,input_len,output_len,batch_or_concurrency,tpot_s\n" + row + "\n";
    auto reader = CsvReader::open(text, "t.csv");
    REQUIRE(reader);
    auto table = read_serving_table(*reader);
    return table ? "" : table.error().message;
}

}  // namespace

TEST_CASE("a row has model, chips, parallelism, load and times") {
    const MeasuredServing row =
        one("us,Llama 8B,h100_sxm,16,4,1,8,2,FP8,,agg,1024,101,64,1.5,0.02,,trtllm 1.2.0rc6 2026-01-29");
    CHECK(row.line == 2);
    CHECK(row.model == "Llama 8B");
    CHECK(row.dtype == "fp8");
    CHECK(row.chips == 16);
    CHECK(row.worker == ServingWorker{4, 1, 2, 8});
    CHECK(row.decode_workers == 2);  // of 8 chips each
    CHECK(row.decode_chips == 8);
    CHECK(row.prefill_chips == 8);
    CHECK(row.strategy() == "tp4 dp2 ep8");
    CHECK(row.software == "trtllm 1.2.0rc6");
    // a request spends 100 x 0.02 = 2 of its 3.5 s in decode
    CHECK(row.decoding().value_or(0) == approx(64 * 2 / 3.5));
}

TEST_CASE("zero and empty degrees are unknown; expert parallelism may span more chips") {
    const MeasuredServing row = one("us,m,h100,,,,8,0,,,agg,10,10,4,1,0.02,,");
    CHECK(row.worker == ServingWorker{1, 1, 1, 8});
    CHECK(row.chips == 8);
    CHECK(row.decode_workers == 1);
    CHECK(row.decode_chips == 8);
    // if the chips are not divisible by workers, one worker may have all of them
    CHECK(one("us,m,h100,12,8,1,1,1,,,agg,10,10,4,1,0.02,,").decode_chips == 12);
}

TEST_CASE("degrees that count the two cores of a chip are those of half as many chips") {
    const char* note = "sglang-jax; v7x tp counts cores (2 a chip)";
    CHECK(one(std::string("us,m,tpu-v7x,4,8,1,8,1,bf16,,agg,10,10,4,1,0.02,,") + note).worker ==
          ServingWorker{4, 1, 1, 4});
    // the same note beside chips of one core
    CHECK(one(std::string("us,m,tpu-v6e,4,4,1,4,1,bf16,,agg,10,10,4,1,0.02,,") + note).worker ==
          ServingWorker{4, 1, 1, 4});
}

TEST_CASE("for disaggregated serving the note names the prefill workers and the number of decode workers") {
    const MeasuredServing row =
        one("us,m,h100,48,8,1,8,1,fp8,,disagg,10,10,4,1,0.02,,sglang 0.5 P:2x(tp1 dp4 ep4) D:5x(tp8 dp1 ep8)");
    CHECK(row.worker == ServingWorker{8, 1, 1, 8});
    CHECK(row.decode_workers == 5);
    CHECK(row.decode_chips == 8);
    CHECK(row.prefill_chips == 4);
    CHECK(row.strategy() == "disagg tp8 ep8");
    CHECK(row.all_chips);
    const MeasuredServing unsaid =
        one("us,m,h100,,8,1,4,1,fp8,,disagg,10,10,4,1,0.02,,P:x(tp4 dp1 ep4) D:x(tp8 dp1 ep4)");
    CHECK(unsaid.decode_workers == 0);
    CHECK(unsaid.decode_chips == 8);
    CHECK(unsaid.prefill_chips == 4);
    CHECK(row.prefill_workers == 2);
    CHECK(row.prefill_worker == ServingWorker{1, 1, 4, 4});
    CHECK_FALSE(unsaid.all_chips);
    // without a note, it may be all chips
    const MeasuredServing bare = one("us,m,h100,8,,,,,fp8,,disagg,10,10,4,1,0.02,,");
    CHECK(bare.decode_chips == 8);
    CHECK(bare.prefill_chips == 8);
}

TEST_CASE("numbers of workers follow from the chips if only one pair of numbers does") {
    const auto workers = [](const char* chips) {
        const MeasuredServing row = one(std::string("us,m,h100,") + chips +
                                        ",8,1,1,1,fp8,,disagg,10,10,4,1,0.02,,P:x(tp4 dp1 ep4) D:x(tp8 dp1 ep8)");
        return std::pair(row.prefill_workers, row.decode_workers);
    };
    CHECK(workers("12") == std::pair<std::int64_t, std::int64_t>(1, 1));
    CHECK(workers("16") == std::pair<std::int64_t, std::int64_t>(2, 1));
    CHECK(workers("20") == std::pair<std::int64_t, std::int64_t>(0, 0));  // one and two, or three and one
    CHECK(workers("8") == std::pair<std::int64_t, std::int64_t>(0, 0));
    CHECK(workers("14") == std::pair<std::int64_t, std::int64_t>(0, 0));
}

TEST_CASE("plans of deployments: workers in columns, attention by data, times in milliseconds, rates per chip") {
    constexpr const char* head =
        "source,model,machine,n_accel,precision,mode,framework,version,isl,osl,concurrency,spec_decode,tp,ep,dp_attn,"
        "prefill_workers,prefill_tp,prefill_ep,prefill_dp_attn,decode_workers,decode_tp,decode_ep,decode_dp_attn,"
        "ttft_ms,tpot_ms,out_tok_s_gpu,measured\n";
    const auto table = [&](const std::string& rows) {
        const std::string text = head + rows;
        auto reader = CsvReader::open(text, "plans.csv");
        REQUIRE(reader);
        REQUIRE(is_serving_table(reader->header()));
        auto read = read_serving_table(*reader);
        REQUIRE_MESSAGE(read, read.error().message);
        return *read;
    };
    const ServingTable rows = table(
        "us,m,B200,40,fp4,disagg,trtllm,1.1.0,1024,512,64,,,,,1,8,8,True,2,16,4,2,250,12.5,300,yes\n"
        "us,m,B200,8,fp8,agg,vllm,0.19.0,1024,512,64,none,8,8,True,,,,,,,,,250,12.5,300,\n"
        "us,m,B200,8,fp8,agg,vllm,0.19.0,1024,512,64,none,8,8,False,,,,,,,,,,12.5,,yes\n"
        "us,m,B200,8,fp8,agg,vllm,0.19.0,1024,512,64,mtp,8,8,False,,,,,,,,,250,12.5,300,yes\n"
        "us,m,B200,8,fp8,agg,vllm,0.19.0,1024,512,64,,8,8,False,,,,,,,,,250,12.5,300,no\n");
    REQUIRE(rows.rows.size() == 3);
    const MeasuredServing& pools = rows.rows.front();
    CHECK(pools.system == "B200");
    CHECK(pools.dtype == "fp4");
    CHECK(pools.prefill_workers == 1);
    CHECK(pools.prefill_worker == ServingWorker{1, 1, 8, 8});
    CHECK(pools.prefill_chips == 8);
    CHECK(pools.decode_workers == 2);
    CHECK(pools.worker == ServingWorker{16, 1, 2, 4});
    CHECK(pools.decode_chips == 32);
    CHECK(pools.ttft_s.value_or(0) == approx(0.25));
    CHECK(pools.tpot_s.value_or(0) == approx(0.0125));
    CHECK(pools.tokens_per_s.value_or(0) == approx(12'000));
    CHECK(pools.software.starts_with("trtllm"));
    const MeasuredServing& together = rows.rows[1];
    CHECK(together.worker == ServingWorker{1, 1, 8, 8});
    CHECK(together.software == "vllm 0.19.0");
    CHECK(together.concurrency.value_or(0) == 64);
    CHECK(rows.rows[2].worker == ServingWorker{8, 1, 1, 8});
    REQUIRE(rows.skipped.size() == 2);
    CHECK(rows.skipped[0].reason == "its tokens were drafted (speculative decoding)");
    CHECK(rows.skipped[1].reason == "nothing was measured");
}

TEST_CASE("concurrency may be unlimited or given in words; lengths may be means") {
    const MeasuredServing row =
        one("us,m,h100,1,1,1,1,1,fp8,,online,mean862,mean665,\"10 req/s, max_num_seqs 128\",1,0.05,2000,");
    CHECK(row.prompt == 862);
    CHECK(row.output == 665);
    CHECK(row.concurrency.value_or(0) == 128);
    CHECK(row.decoding().value_or(0) == approx(100));  // 2000 tokens/s with 0.05 s per token
    // at most the limit on concurrent requests
    CHECK(one("us,m,h100,1,1,1,1,1,fp8,,x,10,10,64,1,0.05,2000,").decoding().value_or(0) == 64);
    const MeasuredServing offline = one("us,m,h100,1,1,1,1,1,fp8,,offline,10,10,inf,,,2000,");
    CHECK_FALSE(offline.concurrency);
    CHECK_FALSE(offline.decoding());
}

TEST_CASE("incomplete rows are skipped with the reason") {
    const ServingTable table = servings_of(
        "us,,h100,1,1,1,1,1,fp8,,agg,10,10,4,1,0.02,,\nus,m,,1,1,1,1,1,fp8,,agg,10,10,4,1,0.02,,\n"
        "us,m,h100,1,1,1,1,1,fp8,,agg,,10,4,1,0.02,,\nus,m,h100,1,1,1,1,1,fp8,,agg,10,10,4,,,,\n");
    CHECK(table.rows.empty());
    REQUIRE(table.skipped.size() == 4);
    CHECK(table.skipped[0].reason == "the model is empty");
    CHECK(table.skipped[1].reason == "the accelerator is empty");
    CHECK(table.skipped[2].reason == "the prompt length is empty");
    CHECK(table.skipped[3].reason == "it has neither a time nor a rate");
}

TEST_CASE("a value that is not a number is an error") {
    CHECK(error_of("m,h100,1,10,10,4,0.02").empty());
    CHECK(error_of("m,h100,-1,10,10,4,0.02") != "");
    CHECK(error_of("m,h100,9000000,10,10,4,0.02") == "9000000 in column `tp` is larger than 1000000");
    CHECK(error_of("m,h100,1,meany,10,4,0.02") == "`meany` in column `input_len` is not a length");
    CHECK(error_of("m,h100,1,ten,10,4,0.02") != "");
    CHECK(error_of("m,h100,1,10,10,many,0.02") != "");
    CHECK(error_of("m,h100,1,10,10,4,0") != "");
}

TEST_CASE("a publisher's habits make the requests that were sent out of the lengths that are stated") {
    const std::string row = "aic-silicon,m,h100_sxm,4,4,1,1,1,fp8,,agg,1024,8192,64,0.2,0.01,,";
    const MeasuredServing dated = one(row + "vllm 0.19.0 2026-04-21");
    CHECK(dated.stated_prompt == 1024);
    CHECK(dated.stated_output == 8192);
    CHECK(dated.prompt == (819 + 1024) / 2.0);
    CHECK(dated.output == (6553 + 8192) / 2.0);
    CHECK(dated.drive.requests == 640);
    const MeasuredServing undated = one(row + "vllm 0.19.0");
    CHECK(undated.prompt == 1024);
    CHECK(undated.output == 8192);
    CHECK(undated.drive == BenchmarkDrive{});
}
