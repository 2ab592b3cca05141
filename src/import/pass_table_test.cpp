#include "import/pass_table.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"

using namespace roofline::core;

TEST_CASE("a table of llama.cpp's benchmark") {
    constexpr const char* text =
        "source,accelerator,n_accel,backend,model,quant,test,tokens_per_s,notes\n"
        "A/B@123 README.md#L1,4090 24GB,2,llama.cpp,LLaMA-3 8B,Q4_K_M,tg128,100,\n"
        "A/B@123 README.md#L2,7950X,1,ik_llama.cpp,LLaMA-3 8B,IQ4_XS,pp512,128,8 threads\n"
        "A/B@123 README.md#L3,7950X,1,ik_llama.cpp,LLaMA-3 8B,IQ4_XS,pp512+tg128,128,8 threads\n";
    auto reader = CsvReader::open(text, "t.csv");
    REQUIRE(reader);
    CHECK(is_pass_table(reader->header()));
    const auto table = read_pass_table(*reader);
    REQUIRE_MESSAGE(table, (table ? "" : table.error().message));
    REQUIRE(table->rows.size() == 2);
    CHECK(table->rows[0].source == "A/B");
    CHECK(table->rows[0].generates);
    CHECK(table->rows[0].chips == 2);
    CHECK(table->rows[0].seconds() == approx(0.01));
    CHECK(table->rows[1].threads == 8);
    CHECK(table->rows[1].seconds() == approx(4));
    REQUIRE(table->skipped.size() == 1);
    CHECK(table->skipped[0].reason.find("pp512+tg128") != std::string::npos);
    CHECK_FALSE(is_pass_table({"model", "accelerator", "tokens_per_s"}));
}
