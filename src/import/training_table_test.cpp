#include "import/training_table.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

using namespace roofline::core;

namespace {

constexpr const char* training_head =
    "source,model,params_B,layers,hidden,seq_len,global_batch_seqs,micro_batch,accelerator,n_accel,dtype,dp,tp,pp,ep,"
    "cp,"
    "zero_stage_or_fsdp,recompute,tokens_per_s_per_accel,step_time_s,memory_GB_per_accel,notes\n";

Result<TrainingTable> trainings_of(const std::string& rows) {
    const std::string text = training_head + rows;
    auto reader = CsvReader::open(text, "t.csv");
    REQUIRE(reader);
    REQUIRE(is_training_table(reader->header()));
    return read_training_table(*reader);
}

}  // namespace

TEST_CASE("a row of a training table is read together with its notes") {
    const auto table = trainings_of(
        "me,llama3-8b,8.03,32,4096,8192,64,2,H100,32,BF16,8,1,4,1,1,FSDP2(zero3),Selective,,2.5,80,"
        "\"vpp=4; micro_batches=8; memory=max allocated GiB, reserved 82 GiB; cp A2A; no SP\"\n");
    REQUIRE(table);
    REQUIRE(table->rows.size() == 1);
    const MeasuredTraining& row = table->rows.front();
    CHECK(row.line == 2);
    CHECK(row.source == "me");
    CHECK(row.params == approx(8.03e9));
    CHECK(row.layers == 32);
    CHECK(row.ffn == 0);
    CHECK(row.chips == 32);
    CHECK(row.pipeline == 4);
    CHECK(row.dtype == "bf16");
    CHECK(row.sharding == "fsdp2(zero3)");
    CHECK(row.recompute == "selective");
    CHECK(row.step_s == approx(2.5));
    CHECK(row.memory_bytes == approx(80.0 * 1024 * 1024 * 1024));
    CHECK(row.memory_what == "allocated");
    CHECK(row.chunks == 4);
    CHECK(row.microbatches == 8);
    CHECK(row.exchanged_heads);
    CHECK(row.whole_tokens);
    CHECK(!row.local_batch);
    CHECK(row.shape() == "llama3-8b 64x8192");
}

TEST_CASE("a token rate is converted to a step time, and memory is in decimal units unless notes say otherwise") {
    const auto table = trainings_of("me,m,,,,1024,64,,H100,8,,8,1,1,,,,,400,,10,gbs=dp*lbs; reserved\n");
    REQUIRE(table);
    REQUIRE(table->rows.size() == 1);
    // 65536 tokens at 3200 tokens per second
    CHECK(table->rows.front().step_s == approx(20.48));
    CHECK(table->rows.front().memory_bytes == approx(1e10));
    CHECK(table->rows.front().memory_what == "reserved");
    CHECK(table->rows.front().local_batch);
    CHECK(table->rows.front().chunks == 1);
}

TEST_CASE("incomplete rows are skipped with the reason, and a value that is not a number is an error") {
    const auto table = trainings_of(
        "me,m,,,,,64,,H100,8,,8,1,1,,,,,400,,,\n"                 // no sequence
        "me,m,,,,1024,,,H100,8,,8,1,1,,,,,400,,,\n"               // no batch
        "me,m,,,,1024,64,,H100,8,,8,1,1,,,,,,,,\n"                // nothing measured
        "me,m,,,,1024,64,,,8,,8,1,1,,,,,400,,,\n"                 // no accelerator
        "me,m,,,,1024,,1,H100,8,,8,1,1,,,,,,,70,micro_num=4\n");  // only memory
    REQUIRE(table);
    REQUIRE(table->skipped.size() == 4);
    CHECK(table->skipped[0].reason == "seq_len is empty");
    CHECK(table->skipped[1].reason == "the global batch is empty");
    CHECK(table->skipped[2].reason == "it has no step time, no tokens per second and no memory");
    CHECK(table->skipped[3].reason == "the accelerator is empty");
    CHECK(table->skipped[3].line == 5);
    REQUIRE(table->rows.size() == 1);
    CHECK(table->rows[0].microbatches == 4);
    CHECK(table->rows[0].step_s == 0);
    const auto wrong = trainings_of("me,m,,,,1024,64,,H100,8,,8,1,1,,,,,-400,,,\n");
    REQUIRE(!wrong);
    CHECK(wrong.error().code == "bad_number");
    CHECK(!trainings_of("me,m,,,,1024,6.5,,H100,8,,8,1,1,,,,,400,,,\n"));
}

TEST_CASE("tables of kernels are not training tables") {
    CHECK(!is_training_table({"m", "n", "k", "dtype_in", "dtype_out", "accelerator", "time_s"}));
    CHECK(!is_training_table({"model", "accelerator", "n_accel", "seq_len", "global_batch_seqs", "dp", "tp", "pp"}));
}

TEST_CASE("the settings of MaxText in notes are axes, slices and a policy") {
    const auto table = trainings_of(
        "me,m,,,,1024,64,,v5p,128,,,,,,,fsdp,selective,400,,,\"v5p-256; ici fsdp32 x tp4; remat_policy=minimal\"\n"
        "me,m,,,,1024,64,,v5p,128,,,16,,,,fsdp,full,400,,,\"4 slices of 32, data parallel across slices (DCN)\"\n"
        "me,m,,,,1024,64,,v5p,128,,,,,,,\"fsdp within slice, DP across slices(DCN)\",full,400,,,2x v5p-128; "
        "ici_tensor_parallelism=8\n"
        "me,m,,,,1024,64,,v6e,128,,,,,,,fsdp,selective,400,,,2x v6e-64; ici_fsdp64 dcn_fsdp2; qkv_proj_offloaded\n"
        "me,m,,,,1024,64,,trn1,128,,32,8,1,,,,full,400,,,dp/tp/pp count NeuronCores\n");
    REQUIRE(table);
    REQUIRE(table->rows.size() == 5);
    CHECK(table->rows[0].tensor == 4);
    CHECK(table->rows[0].policy == "minimal");
    CHECK(table->rows[0].slices == 0);
    CHECK(table->rows[1].tensor == 16);  // what the column says
    CHECK(table->rows[1].slices == 4);
    CHECK(table->rows[1].data_over_slices);
    CHECK(table->rows[1].policy == "full");
    CHECK(table->rows[2].slices == 2);
    CHECK(table->rows[2].data_over_slices);
    CHECK(table->rows[2].tensor == 8);
    CHECK(table->rows[3].slices == 2);
    CHECK(!table->rows[3].data_over_slices);
    CHECK(table->rows[3].tensor == 0);
    CHECK(table->rows[3].policy == "qkv_proj_offloaded");
    CHECK(table->rows[4].tensor == 4);
}
