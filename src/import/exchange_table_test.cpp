#include "import/exchange_table.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace roofline::core;

namespace {

Result<ExchangeTable> experts_of(const std::string& text) {
    auto reader = CsvReader::open(text, "table.csv");
    REQUIRE(reader);
    return read_exchange_table(*reader);
}

const std::string exchange_head = "source,accelerator,impl,op,n_nodes,hidden,tokens_per_rank,topk,experts,sms,time_s\n";

}  // namespace

TEST_CASE("rows of expert dispatch and combine are read") {
    const auto table =
        experts_of(exchange_head + "aic:sglang-0.5.12,h100_sxm,deepep_normal,dispatch,2,7168,64,8,256,20,2e-5\n" +
                   "aic:sglang-0.5.12,h100_sxm,deepep_ll,combine,1,2048,1,4,128,,1e-5\n");
    REQUIRE(table);
    REQUIRE(table->rows.size() == 2);
    const MeasuredExchange& row = table->rows.front();
    CHECK(row.system == "h100_sxm");
    CHECK(row.software == "sglang 0.5.12");
    CHECK(row.variant == "deepep normal");
    CHECK_FALSE(row.back);
    CHECK(row.nodes == 2);
    CHECK(row.members == 0);
    CHECK(row.hidden == 7168);
    CHECK(row.tokens == 64);
    CHECK(row.choices == 8);
    CHECK(row.experts == 256);
    CHECK(row.cores == 20);
    CHECK(row.dtype == Dtype::fp8);
    CHECK(row.time_s == 2e-5);
    CHECK(table->rows.back().back);
    CHECK(table->rows.back().cores == 0);
    CHECK(table->rows.back().dtype == Dtype::bf16);
    CHECK(table->rows.back().variant == "deepep low latency");
}

TEST_CASE("other column names give members, dtype and routing") {
    const auto table = experts_of(
        "source,system,ep_size,n_nodes,phase,kernel,dtype,tokens,hidden,topk,experts,distribution,time_us\n"
        "a,H100,16,2,dispatch,nccl,bf16,8,4096,8,64,uniform,12.5\n"
        "a,H100,16,2,dispatch,nccl,bf16,8,4096,8,64,zipf,12.5\n"
        "a,H100,16,2,dispatch,nccl,bf16,8,4096,8,,,12.5\n"
        "a,H100,16,2,dispatch,nccl,bf16,8,4096,8,64,,\n"
        "a,H100,16,2,send,nccl,bf16,8,4096,8,64,,12.5\n"
        "a,H100,16,2,combine,nccl,bf16,8,4096,8,4,,12.5\n");
    REQUIRE(table);
    REQUIRE(table->rows.size() == 1);
    CHECK(table->rows.front().members == 16);
    CHECK(table->rows.front().dtype == Dtype::bf16);
    CHECK(table->rows.front().time_s == approx(12.5e-6));
    REQUIRE(table->skipped.size() == 5);
    CHECK(table->skipped[0].reason == "the routing `zipf` is unknown: only uniform and balanced are supported");
    CHECK(table->skipped[1].reason == "experts is empty");
    CHECK(table->skipped[2].reason == "the time is empty");
    CHECK(table->skipped[3].reason == "`send` is neither dispatch nor combine");
    CHECK(table->skipped[4].reason == "topk is larger than the number of experts");
}

TEST_CASE("tables of expert layers are not tables of dispatch and combine, and numbers must be numbers") {
    CHECK(is_exchange_table({"op", "accelerator", "tokens", "hidden", "topk", "experts", "time_s"}));
    CHECK_FALSE(is_exchange_table({"op", "accelerator", "tokens", "hidden", "inter", "topk", "experts", "time_s"}));
    const auto table = experts_of(exchange_head + "a,h100_sxm,deepep_ll,combine,1,2048,x,4,128,,1e-5\n");
    REQUIRE_FALSE(table);
    CHECK(table.error().code == "bad_number");
}
