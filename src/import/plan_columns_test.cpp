#include "import/plan_columns.hpp"
#include "base/approx_test.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace roofline::core;

namespace {

constexpr const char* plan_head =
    "source,model,task,machine,n_accel,seq,global_batch,dtype,tp,pp,vpp,cp,dp,ep,etp,experts,moe_ffn,sharding,"
    "micro_batch,recompute,sp,overlap,schedule,step_time_s,tokens_per_s_per_accel,memory_GB,measured,notes\n";

TrainingTable plans_of(const std::string& rows) {
    const std::string text = plan_head + rows;
    auto reader = CsvReader::open(text, "plans.csv");
    REQUIRE(reader);
    REQUIRE(is_training_table(reader->header()));
    REQUIRE(is_plan_table(reader->header()));
    reader->leave_out_bad_rows();
    auto table = read_training_table(*reader);
    REQUIRE(table);
    return std::move(*table);
}

// The reason why a row is skipped that differs from a readable one in its task, dtype, recomputation, schedule, whether
// it was measured, and its notes.
std::string reason(const std::string& task, const std::string& dtype, const std::string& recompute,
                   const std::string& schedule, const std::string& measured, const std::string& notes) {
    const TrainingTable table =
        plans_of("mlcommons/x,llama31-8b," + task + ",H100,64,8192,64," + dtype + ",1,1,,1,64,,,,,ZeRO-1,1," +
                 recompute + ",False,," + schedule + ",0.5,,," + measured + "," + notes + "\n");
    return table.skipped.empty() ? "" : table.skipped.front().reason;
}

}  // namespace

TEST_CASE("a measured plan is read with its own columns") {
    const TrainingTable table = plans_of(
        "mlcommons/x,qwen3-235b-a22b,pretrain,H100,256,4096,2048,fp8 (default),4,8,4,1,8,16,1,128,1536,"
        "dist-optimizer (ZeRO-1),1,none (not set in config),False,tp+dp_rs+ep_a2a_1f1b+cudagraph:local,"
        "1F1B-interleaved,29,,70,yes,net=vpp=9; lbs\n");
    REQUIRE(table.rows.size() == 1);
    const MeasuredTraining& row = table.rows.front();
    CHECK(row.source == "mlcommons/x");
    CHECK(row.system == "H100");
    CHECK(row.sequence == 4096);
    CHECK(row.sequences == 2048);
    CHECK(row.chunks == 4);
    CHECK(row.expert == 16);
    CHECK(row.expert_tensor == 1);
    CHECK(row.experts == 128);
    CHECK(row.expert_ffn == 1536);
    CHECK(row.sharding == "zero1");
    CHECK(row.recompute == "none");
    CHECK(row.whole_tokens);
    CHECK(row.overlapped == std::vector<std::string>{"tensor", "expert"});
    CHECK(!row.in_turn);
    CHECK(row.step_s == approx(29));
    CHECK(row.memory_bytes == approx(70e9));
    CHECK(!row.local_batch);  // words of notes have no meaning in such tables
}

TEST_CASE("the task says whether only adapters were trained") {
    const std::string rest = ",H200,8,8192,8,fp8,2,1,,1,4,,,,,LoRA: frozen base,1,none,1,tp,,3,,,yes,LORA_A2A=1\n";
    const TrainingTable table = plans_of("me,llama2-70b,lora-sft" + rest + "me,llama2-70b,sft" + rest);
    REQUIRE(table.rows.size() == 2);
    CHECK(table.rows[0].lora);
    CHECK(table.rows[0].shape() == "llama2-70b LoRA 8x8192");
    CHECK(!table.rows[1].lora);
    CHECK(table.rows[1].shape() == "llama2-70b 8x8192");
}

TEST_CASE("whole tokens need a tensor axis, and `none` overlaps nothing") {
    const TrainingTable table =
        plans_of("me,gpt3-175b,pretrain,H100,8,1024,8,bf16,1,1,,1,8,,,,,none,1,full:block:8,0,none,1F1B,,400,,yes,\n");
    REQUIRE(table.skipped.size() == 1);  // it does not say how many layers there are
    CHECK(table.skipped.front().reason == "only some layers are recomputed, for which there is no policy");
    const TrainingTable full =
        plans_of("me,gpt3-175b,,H100,8,1024,8,bf16,1,1,,1,8,,,,,none,1,full,0,none,1F1B,,400,,yes,\n");
    REQUIRE(full.rows.size() == 1);
    CHECK(!full.rows.front().whole_tokens);
    CHECK(full.rows.front().in_turn);
    CHECK(full.rows.front().recompute == "full");
    CHECK(full.rows.front().chunks == 1);
    // 8192 tokens at 3200 tokens per second
    CHECK(full.rows.front().step_s == approx(2.56));
}

TEST_CASE("what is no measurement of a training step is refused with the reason") {
    CHECK(reason("pretrain", "fp8", "none", "1F1B", "yes", "") == "");
    CHECK(reason("sft", "fp8", "selective(attn)", "", "yes", "") == "");
    CHECK(reason("pretrain", "fp8", "none", "", "no", "") == "it is a plan that was not measured");
    CHECK(reason("pretrain", "fp8", "none", "", "no (predicted)", "") == "its time is the prediction of another tool");
    CHECK(reason("lora-sft", "fp8", "none", "", "yes", "") == "");
    CHECK(reason("peft", "fp8", "none", "", "yes", "") ==
          "the table does not say which parameters were trained (PEFT)");
    CHECK(reason("distillation", "fp8", "none", "", "yes", "") == "the task `distillation` is not known");
    CHECK(reason("pretrain", "fp8 or nvfp4", "none", "", "yes", "") == "the dtype is not certain: `fp8 or nvfp4`");
    CHECK(reason("pretrain", "bf16/unknown", "none", "", "yes", "") == "the dtype is not certain: `bf16/unknown`");
    CHECK(reason("pretrain", "fp8", "selective:moe", "", "yes", "") ==
          "there is no policy that recomputes what `selective:moe` says");
    CHECK(reason("pretrain", "fp8", "none", "DualPipe", "yes", "") == "the schedule DualPipe is not priced");
    CHECK(reason("pretrain", "fp8", "none", "", "yes", "CARRIED OVER: same result as A1") ==
          "the publisher carried over the measurement of an earlier row");
}

TEST_CASE("a recipe may have anything in its fields, and a measured row may not") {
    // degrees that differ by stage, and a fraction of a sequence per device
    const TrainingTable table = plans_of(
        "me,gpt,pretrain,V100,8,1024,8,fp16,1,3,,1,2|2|4,,,,,none,0.5,full,0,,,,,,no,\n"
        "me,gpt,pretrain,V100,8,1024,8,fp16,1,1,,1,8,,,,,none,0.5,full,0,,,1,,,yes,\n");
    REQUIRE(table.skipped.size() == 2);
    CHECK(table.skipped[0].reason == "it is a plan that was not measured");
    CHECK(table.skipped[1].reason.find("`0.5` in column `micro_batch`") != std::string::npos);
}
