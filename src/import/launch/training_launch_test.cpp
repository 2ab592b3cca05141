#include "import/launch/training_launch.hpp"

#include <doctest/doctest.h>

#include <map>
#include <sstream>

#include "import/launch/trainer_launch_test.hpp"
#include "import/training_table.hpp"
#include "text/csv.hpp"
#include "text/shared_text_test.hpp"

using namespace roofline::core;

namespace {

TrainingLaunch megatron_launch(const std::string& text, const LaunchJob& job) {
    return trainer_launch("megatron", text, job);
}

Error megatron_error(const std::string& text, const LaunchJob& job = {64, 80, false}) {
    const auto launch = trainer_read("megatron", text, job);
    REQUIRE_FALSE(launch);
    return launch.error();
}

// The flags of a text with one flag a line, without the code that reads them.
std::map<std::string, std::string> flags_by_line(const std::string& text) {
    std::map<std::string, std::string> flags;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t dashes = line.find("    --");
        if (dashes != 0) continue;
        std::istringstream words(line.substr(6));
        std::string name;
        std::string value;
        words >> name >> value;
        flags[name] = value == "\\" ? "" : value;
    }
    return flags;
}

std::int64_t degree_in(const std::map<std::string, std::string>& flags, const std::string& name) {
    const auto found = flags.find(name);
    return found == flags.end() ? 1 : std::stoll(found->second);
}

}  // namespace

TEST_CASE("a launch line of a dense model gives the plan that it says") {
    // 64 chips / (8 * 2) leave 4 replicas; 128 / (4 * 2) sequences are 16 microbatches; 80 layers / 2 stages / 10 are 4
    const auto launch = megatron_launch(R"(#!/bin/bash
# starts a run
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc_per_node 8 --nnodes=8 --node_rank $RANK \
    --master_addr $HEAD pretrain_gpt.py \
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 2 \
    --num-layers-per-virtual-pipeline-stage 10 --sequence-parallel \
    --use-distributed-optimizer --overlap-grad-reduce --tp-comm-overlap \
    --micro-batch-size 2 --global-batch-size=128 --seq-length 4096 --max-position-embeddings 4096 \
    --num-layers 80 --hidden-size 8192 --lr 1.5e-4 --bf16 --fp8-format hybrid \
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \
    --data-path "$DATA" 2>&1 | tee log.txt
)",
                                        {64, 80, false});
    CHECK(launch.plan.tensor == 8);
    CHECK(launch.plan.pipeline == 2);
    CHECK(launch.plan.data == 4);
    CHECK(launch.plan.fsdp == 1);
    CHECK(launch.plan.zero == 1);
    CHECK(launch.plan.tensor_tokens);
    CHECK(launch.sequence == 4096);
    CHECK(launch.sequences == 128);
    CHECK(launch.microbatches == 16);
    CHECK(launch.schedule.schedule == Schedule::interleaved);
    CHECK(launch.schedule.chunks == 4);
    REQUIRE(launch.remat);
    CHECK(launch.remat->remat == Remat::full);
    CHECK(launch.products == Dtype::fp8);
    CHECK(launch.overlapped == std::vector<std::string>{"tensor"});
    REQUIRE(launch.optimizer);
    CHECK(launch.optimizer->master);
    CHECK(launch.optimizer->f32_gradients);
    CHECK(one_has(launch.notes, "ignored, because it does not change the plan: --max-position-embeddings"));
    CHECK_FALSE(one_has(launch.notes, "nproc_per_node"));
}

TEST_CASE("experts lie on the chips of replicas, with their columns over tensor unless the launch says otherwise") {
    const std::string line =
        "pretrain_gpt.py --tensor-model-parallel-size 2 --context-parallel-size 2 --expert-model-parallel-size 4 "
        "--micro-batch-size 1 --global-batch-size 32";
    const auto columns = megatron_launch(line, {32, 48, true});
    CHECK(columns.plan.tensor == 2);
    CHECK(columns.plan.context == 2);
    CHECK(columns.plan.expert == 4);
    CHECK(columns.plan.data == 2);  // 32 / (2 * 2) = 8 replicas, 4 of which spread experts
    CHECK_FALSE(columns.plan.experts_over_tensor);
    CHECK(columns.microbatches == 4);
    const auto whole = megatron_launch(line + " --expert-tensor-parallel-size 1", {32, 48, true});
    CHECK(whole.plan.experts_over_tensor);
    CHECK(whole.plan.expert == 2);  // and 2 over tensor
    CHECK(whole.plan.data == 4);
}

TEST_CASE("flags in an array of the shell belong to a launch, and those of torchrun do not matter") {
    const auto launch = megatron_launch(
        "DISTRIBUTED=(\n  --nproc-per-node 8\n  --master-port 6000\n)\nMODEL=(\n  --tensor-model-parallel-size 4 # "
        "within\n"
        "  --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params\n)\n",
        {32, 80, false});
    CHECK(launch.plan.tensor == 4);
    CHECK(launch.plan.fsdp == 8);
    CHECK(launch.plan.zero == 0);
    CHECK_FALSE(launch.microbatches);
    CHECK_FALSE(launch.plan.tensor_tokens);
}

TEST_CASE("what a launch says wrongly is an error at its place") {
    Error error = megatron_error("pretrain_gpt.py\n  --tensor-model-parallel-size 3");
    CHECK(error.code == "bad_plan");
    CHECK(error.message.find("do not divide the 64 of --on") != std::string::npos);
    REQUIRE(error.place);
    CHECK(error.place->line == 2);
    error = megatron_error("--tensor-model-parallel-size 8 --recompute-granularity ful");
    CHECK(error.code == "bad_value");
    CHECK(error.hint.find("full") != std::string::npos);
    error = megatron_error("--tensor-model-parallel-size $TP");
    CHECK(error.code == "bad_value");
    CHECK(error.hint == "put the value of the variable there");
    error = megatron_error("--tensor-model-parallel-size 8 --tensor-model-parallel-size 4");
    CHECK(error.code == "contradiction");
    error = megatron_error("--tensor-model-parallel-siz 8");
    CHECK(error.code == "unknown_setting");
    CHECK(error.hint.find("--tensor-model-parallel-size") != std::string::npos);
    CHECK(megatron_error("--expert-model-parallel-size 4").message == "the model has no experts");
    CHECK(megatron_error("--micro-batch-size 1 --global-batch-size 100").code == "bad_plan");  // 100 on 64 replicas
    CHECK(megatron_error("--micro-batch-size 0").code == "bad_value");
    CHECK(megatron_error("--micro-batch-size 99999999999999999999").code == "bad_value");
    CHECK(megatron_error("--micro-batch-size").code == "no_value");
    CHECK(megatron_error("").code == "empty");
    CHECK(megatron_error("# nothing\n").code == "empty");
    CHECK(megatron_error(std::string("\x7f"
                                     "ELF\0\xff\xfe",
                                     7))
              .code == "not_text");
    CHECK(megatron_error("--micro-batch-size '1").code == "cut_off");
    CHECK(megatron_error("--lr 1e-4").code == "no_plan");
    CHECK(megatron_error(std::string((std::size_t{1} << 20) + 1, 'a')).code == "too_large");
    CHECK(megatron_error("--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 3").code ==
          "bad_plan");
    CHECK(megatron_error("--use-torch-fsdp2 --use-distributed-optimizer").code == "contradiction");
    CHECK(megatron_error("--exp-avg-dtype bf16 --bf16").code == "contradiction");
}

TEST_CASE("a framework is recognised by its flags, and otherwise the known ones are named") {
    const auto found = recognised_launch("torchrun pretrain_gpt.py --seq-length 4096", "a.sh", true);
    REQUIRE(found);
    CHECK(found->name == "megatron");
    const auto none = recognised_launch("python train.py --layers 3", "a.sh", true);
    REQUIRE_FALSE(none);
    CHECK(none.error().code == "unknown_framework");
    CHECK(none.error().hint.find("megatron") != std::string::npos);
    CHECK(none.error().hint.find(":a.sh") != std::string::npos);
    const auto unknown = launch_table("megatrn", true);
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().hint.find("megatron") != std::string::npos);
}

TEST_CASE("emitted flags have the degrees and batches of published plans") {
    const auto content = shared_text("measured/plans_training.csv");
    if (!content) return;
    auto reader = CsvReader::open(*content, "plans_training.csv");
    REQUIRE(reader);
    reader->leave_out_bad_rows();
    const auto rows = read_training_table(*reader);
    REQUIRE(rows);
    const LaunchTable table = trainer_table("megatron");
    std::int64_t compared = 0;
    std::int64_t not_expressed = 0;
    for (const MeasuredTraining& row : rows->rows) {
        const std::int64_t tensor = std::max<std::int64_t>(row.tensor, 1);
        const std::int64_t pipeline = std::max<std::int64_t>(row.pipeline, 1);
        const std::int64_t context = std::max<std::int64_t>(row.context, 1);
        const std::int64_t expert = std::max<std::int64_t>(row.expert, 1);
        const std::int64_t data = row.data;
        if (tensor * pipeline * context * data != row.chips || row.micro_batch < 1 || row.sequences < 1) continue;
        if (row.local_batch || row.sequences % (data * row.micro_batch) != 0) continue;
        TrainingLaunch launch;
        launch.plan.tensor = tensor;
        launch.plan.pipeline = pipeline;
        launch.plan.context = context;
        launch.plan.experts_over_tensor = expert > 1 && tensor > 1 && row.expert_tensor == 1;
        launch.plan.expert = launch.plan.experts_over_tensor ? expert / tensor : expert;
        if (launch.plan.expert == 0 || data % launch.plan.expert != 0) {
            ++not_expressed;  // experts over context, or fewer than tensor
            continue;
        }
        launch.plan.data = data / launch.plan.expert;
        launch.plan.tensor_tokens = !row.whole_tokens;
        launch.plan.zero = row.sharding == "zero1" && data * context > 1 ? 1 : 0;
        launch.schedule.schedule = row.chunks > 1 ? Schedule::interleaved : Schedule::one_f_one_b;
        launch.schedule.chunks = row.chunks;
        launch.sequence = row.sequence;
        launch.sequences = row.sequences;
        launch.microbatches = row.sequences / data / row.micro_batch;
        const LaunchJob job{row.chips, row.layers, true};
        const EmittedLaunch emitted = emit_training(table, launch, job);
        const auto flags = flags_by_line(emitted.text);
        CAPTURE(row.line);
        CAPTURE(emitted.text);
        CHECK(degree_in(flags, "tensor-model-parallel-size") == tensor);
        CHECK(degree_in(flags, "pipeline-model-parallel-size") == pipeline);
        CHECK(degree_in(flags, "context-parallel-size") == context);
        CHECK(degree_in(flags, "expert-model-parallel-size") == expert);
        if (pipeline > 1) CHECK(degree_in(flags, "num-virtual-stages-per-pipeline-rank") == row.chunks);
        CHECK(degree_in(flags, "micro-batch-size") == row.micro_batch);
        CHECK(degree_in(flags, "global-batch-size") == row.sequences);
        CHECK(degree_in(flags, "seq-length") == row.sequence);
        if (expert > 1 && tensor > 1 && row.expert_tensor > 0) {
            CHECK(std::max<std::int64_t>(flags.contains("expert-tensor-parallel-size")
                                             ? degree_in(flags, "expert-tensor-parallel-size")
                                             : tensor,
                                         1) == row.expert_tensor);
        }
        CHECK(flags.contains("use-distributed-optimizer") == (launch.plan.zero == 1));
        CHECK(flags.contains("sequence-parallel") == (tensor > 1 && !row.whole_tokens));
        const TrainingLaunch back = megatron_launch(emitted.text, job);
        CHECK(back.plan.same_axes(launch.plan));
        ++compared;
    }
    MESSAGE(compared, " published plans compared, ", not_expressed, " with experts that no plan places");
    CHECK(compared > 50);
}
