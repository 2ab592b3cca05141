// Launches that are configurations: torchtitan, MaxText, DeepSpeed.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>

#include "import/launch/trainer_launch_test.hpp"
#include "import/training_table.hpp"
#include "text/csv.hpp"
#include "text/shared_text_test.hpp"

using namespace roofline::core;

namespace {

Error trainer_error(const std::string& name, const std::string& text, const LaunchJob& job = {64, 80, false}) {
    const auto launch = trainer_read(name, text, job);
    CAPTURE(text);
    REQUIRE_FALSE(launch);
    return launch.error();
}

}  // namespace

TEST_CASE("a configuration of torchtitan gives the plan that it says") {
    // 512 chips / (8 * 8) leave 8 replicas; 64 / 8 = 8 sequences each; 128 layers + 2 in parts of 13 are 10: no
    const std::string text = R"(
[job]
description = "llama3 405b"
[model]
name = "llama3"
flavor = "405B"
converters = ["quantize.linear.float8"]
[training]
local_batch_size = 8
seq_len = 32768
steps = 3000
[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 8
enable_async_tensor_parallel = true
pipeline_parallel_degree = 8
pipeline_parallel_schedule = "Interleaved1F1B"
pipeline_parallel_layers_per_stage = 8
pipeline_parallel_first_stage_less_layers = 1
pipeline_parallel_last_stage_less_layers = 1
[activation_checkpoint]
mode = "full"
[compile]
enable = true
components = ["model", "loss"]
)";
    // 126 layers, the embedding and the head in parts of 8 are 16 parts, 2 of each of 8 stages
    const auto launch = trainer_launch("torchtitan", text, {512, 126, false});
    CHECK(launch.plan.tensor == 8);
    CHECK(launch.plan.pipeline == 8);
    // with a pipeline weights stay gathered, so that 8 replicas share out optimizer states
    CHECK(launch.plan.data == 8);
    CHECK(launch.plan.fsdp == 1);
    CHECK(launch.plan.zero == 1);
    CHECK(launch.plan.tensor_tokens);
    CHECK(launch.sequence == 32768);
    CHECK(launch.sequences == 64);
    CHECK(launch.microbatches == 8);
    CHECK(launch.schedule.schedule == Schedule::interleaved);
    CHECK(launch.schedule.chunks == 2);
    CHECK(launch.remat->remat == Remat::full);
    CHECK(launch.products == Dtype::fp8);
    CHECK(launch.overlapped == std::vector<std::string>{"tensor"});
    CHECK(launch.optimizer->master);
    CHECK(trainer_launch("torchtitan",
                         "[job]\ndescription = \"a -- b --c\"\n[parallelism]\ntensor_parallel_degree = 8\n",
                         {8, 126, false})
              .plan.tensor == 8);
    // the same on its command line
    const auto line = trainer_launch(
        "torchtitan",
        "torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file a.toml --parallelism.tensor_parallel_degree "
        "8 --training.local_batch_size 2 --training.global_batch_size 64 --compile.enable",
        {64, 80, false});
    CHECK(line.plan.fsdp == 8);
    CHECK(line.sequences == 64);
    CHECK(line.microbatches == 4);
    CHECK(one_has(line.notes, "give --remat"));  // every second layer is recomputed by default
}

TEST_CASE("a configuration of MaxText gives the plan that it says, from its file and from its command line") {
    const std::string line =
        "export LIBTPU_INIT_ARGS=\"--xla_tpu_scoped_vmem_limit_kib=98304\"\n"
        "python3 -m MaxText.train MaxText/configs/base.yml model_name=llama3.1-405b per_device_batch_size=1 \\\n"
        "  ici_fsdp_parallelism=64 ici_tensor_parallelism=4 dcn_fsdp_parallelism=2 max_target_length=8192 \\\n"
        "  remat_policy=full quantization=fp8 steps=20 run_name=$RUN\n";
    const auto launch = trainer_launch("maxtext", line, {512, 126, false});
    CHECK(launch.plan.fsdp == 128);
    CHECK(launch.plan.tensor == 4);
    CHECK(launch.plan.data == 1);
    CHECK(launch.sequence == 8192);
    CHECK(launch.sequences == 512);
    CHECK(launch.microbatches == 1);
    CHECK(launch.products == Dtype::fp8);
    CHECK(launch.remat->remat == Remat::full);
    // two slices of 64 devices: what the file leaves open is found of both
    const std::string file =
        "base_config: base.yml\nper_device_batch_size: 0.5\nici_context_parallelism: 8\n"
        "context_parallel_strategy: ring\nici_expert_parallelism: 2\ngradient_accumulation_steps: 2\n"
        "max_target_length: 131_072\nremat_policy: custom\nweight_dtype: bfloat16\n";
    const auto open = trainer_launch("maxtext", file, {128, 61, true, 2});
    CHECK(open.plan.context == 8);
    CHECK(open.plan.expert == 2);
    CHECK(open.plan.fsdp == 4);
    CHECK(open.plan.data == 2);
    CHECK(open.sequences == 128);
    CHECK(open.microbatches == 2);
    CHECK(open.sequence == 131072);
    CHECK_FALSE(open.remat);
    CHECK(one_has(open.notes, "give --remat"));
    CHECK(open.optimizer->moments == Dtype::bf16);
    CHECK_FALSE(open.optimizer->master);
    // a circular pipeline: 24 layers on 4 stages, 2 a part, are 3 virtual stages
    const auto stages = trainer_launch("maxtext",
                                       "ici_fsdp_parallelism: 1\nici_pipeline_parallelism: 4\n"
                                       "num_layers_per_pipeline_stage: 2\nnum_pipeline_microbatches: 8\n"
                                       "per_device_batch_size: 4.0\n",
                                       {4, 24, false});
    CHECK(stages.schedule.schedule == Schedule::interleaved);
    CHECK(stages.schedule.chunks == 3);
    CHECK(stages.microbatches == 8);
    CHECK(stages.sequences == 16);
}

TEST_CASE("a configuration of DeepSpeed gives the plan that it says") {
    const auto launch = trainer_launch("deepspeed", R"({
  "train_batch_size": 256, "train_micro_batch_size_per_gpu": 4,
  "zero_optimization": {"stage": 3, "overlap_comm": true, "reduce_bucket_size": 5e8},
  "tensor_parallel": {"autotp_size": 4},
  "bf16": {"enabled": true},
  "data_types": {"grad_accum_dtype": "fp32"},
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "betas": [0.9, 0.95]}},
  "gradient_clipping": 1.0
})",
                                       {64, 80, false});
    CHECK(launch.plan.tensor == 4);
    CHECK_FALSE(launch.plan.tensor_tokens);
    CHECK(launch.plan.fsdp == 16);
    CHECK(launch.sequences == 256);
    CHECK(launch.microbatches == 4);
    CHECK(launch.optimizer->f32_gradients);
    CHECK_FALSE(launch.sequence);
    CHECK_FALSE(launch.remat);
    const auto ulysses = trainer_launch("deepspeed",
                                        R"({"sequence_parallel_size": 8, "zero_optimization": {"stage": 2},
                                            "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 3})",
                                        {64, 80, false});
    CHECK(ulysses.plan.sequence == 8);
    CHECK(ulysses.plan.data == 8);
    CHECK(ulysses.plan.zero == 2);
    CHECK(ulysses.sequences == 24);
    CHECK_FALSE(ulysses.optimizer->f32_gradients);
    const auto experts =
        trainer_launch("deepspeed", R"({"expert_parallel": {"enabled": true, "autoep_size": 8}})", {64, 48, true});
    CHECK(experts.plan.expert == 8);
    CHECK(experts.plan.data == 8);
    const auto off =
        trainer_launch("deepspeed", R"({"expert_parallel": {"enabled": false, "autoep_size": 8}})", {64, 48, true});
    CHECK(off.plan.expert == 1);
}

TEST_CASE("configurations that no plan expresses, and wrong ones, are refused at their place") {
    const auto titan = [](const std::string& text, const LaunchJob& job = {64, 80, false}) {
        return trainer_error("torchtitan", text, job);
    };
    Error error = titan("[parallelism]\ntensor_parallel_degree = 3\n");
    CHECK(error.code == "bad_plan");
    REQUIRE(error.place);
    CHECK(error.place->line == 2);
    error = titan("[parallelism]\ntensor_parallel_degre = 8\n");
    CHECK(error.code == "unknown_setting");
    CHECK(error.hint.find("parallelism.tensor_parallel_degree") != std::string::npos);
    CHECK(error.message.find("v0.2.2") != std::string::npos);
    // a key of a later version
    CHECK(titan("[parallelism]\nspmd_backend = \"full_dtensor\"\n").code == "unknown_setting");
    CHECK(titan("[parallelism]\npipeline_parallel_schedule = \"DualPipeV\"\n").code == "bad_value");
    CHECK(titan("[parallelism]\ntensor_parallel_degree = 99999999999999999999\n").code == "toml");
    CHECK(titan("[parallelism]\ntensor_parallel_degree = 4611686018427387904\n").code == "bad_value");
    CHECK(titan("[parallelism]\ntensor_parallel_degree = \"8\"\nexpert_parallel_degree = 4\n").message ==
          "the model has no experts");
    CHECK(titan("[parallelism]\ndata_parallel_replicate_degree = 3\n").code == "bad_plan");
    CHECK(titan("[parallelism]\ndata_parallel_shard_degree = 7\n").code == "bad_plan");
    // experts on members of context: 8 chips hold 4 parts of a sequence and 2 replicas
    CHECK(titan("[parallelism]\ncontext_parallel_degree = 4\nexpert_parallel_degree = 4\n", {8, 48, true}).code ==
          "bad_plan");
    CHECK(titan("[parallelism]\ntensor_parallel_degree = 8\nexpert_parallel_degree = 8\n"
                "expert_tensor_parallel_degree = 4\n",
                {64, 48, true})
              .code == "bad_plan");
    CHECK(titan("[parallelism\n").code == "toml");
    CHECK(titan("a = " + std::string(5000, '[')).code == "too_deep");
    CHECK(titan("[parallelism]\ntensor_parallel_degree = 2\ntensor_parallel_degree = 4\n").code == "toml");
    CHECK(titan("[training]\nlocal_batch_size = 5\nglobal_batch_size = 64\n").code == "bad_plan");
    CHECK(titan("[job]\ndescription = \"x\"\n").code == "no_plan");

    const auto maxtext = [](const std::string& text, const LaunchJob& job = {64, 80, false}) {
        return trainer_error("maxtext", text, job);
    };
    error = maxtext("ici_fsdp_parallelism: -1\nici_tensor_parallelism: -1\n");
    CHECK(error.code == "contradiction");
    CHECK(error.message == "ici_tensor_parallelism and ici_fsdp_parallelism are both what remains");
    error = maxtext("ici_fsdp_parallelism: 8\nici_tensor_parallelism: 3\n");
    CHECK(error.code == "bad_plan");
    CHECK(error.place->line == 1);
    CHECK(maxtext("ici_fsdp_parallelism: 64\ndcn_fsdp_parallelism: 2\ndcn_data_parallelism: 1\n").code == "bad_plan");
    CHECK(maxtext("ici_autoregressive_parallelism: 2\n").code == "bad_value");
    CHECK(maxtext("ici_fsdp_parallelismus: 8\n").code == "unknown_setting");
    CHECK(maxtext("ici_fsdp_parallelism: &a 8\nici_tensor_parallelism: *a\n").code == "no_alias");
    CHECK(maxtext("ici_fsdp_parallelism: 8\nici_fsdp_parallelism: 4\n").code == "defined_twice");
    CHECK(maxtext("ici_fsdp_parallelism: !!int 8\n").code == "no_tag");
    CHECK(maxtext("a: " + std::string(5000, '[')).code == "too_deep");
    CHECK(maxtext("per_device_batch_size: 1e30\n").code == "bad_plan");
    CHECK(maxtext("per_device_batch_size: 0.001\n").code == "bad_plan");
    CHECK(maxtext("ici_fsdp_parallelism: 010\n").code == "bad_value");  // YAML 1.1 reads 8
    CHECK(maxtext("ici_fsdp_parallelism: 8x\n").code == "bad_value");
    CHECK(maxtext("- a\n- b\n").code == "no_configuration");
    CHECK(maxtext("ici_pipeline_parallelism: 4\nici_fsdp_parallelism: 16\ngradient_accumulation_steps: 2\n"
                  "num_layers_per_pipeline_stage: 20\n")
              .code == "bad_plan");
    error = maxtext("python3 -m MaxText.train base.yml ici_fsdp_parallelism=8 ici_fsdp_parallelism=4");
    CHECK(error.code == "contradiction");

    const auto deepspeed = [](const std::string& text, const LaunchJob& job = {64, 80, false}) {
        return trainer_error("deepspeed", text, job);
    };
    error = deepspeed("{\n  \"zero_optimization\": {\"stage\": 4}\n}");
    CHECK(error.code == "bad_value");
    CHECK(error.place->line == 2);
    CHECK(deepspeed(R"({"zero_optimisation": {"stage": 2}})").code == "unknown_setting");
    CHECK(deepspeed(R"({"zero_optimization": {"stage": 2}, "zero_optimization": {}})").code == "defined_twice");
    CHECK(deepspeed(R"({"train_micro_batch_size_per_gpu": "auto"})").code == "bad_value");
    CHECK(deepspeed(R"({"bf16": {"enabled": true}, "fp16": {"enabled": true}})").code == "contradiction");
    CHECK(deepspeed(R"({"bf16": {"enabled": true, "bf16_optimizer_states": true}})").code == "contradiction");
    CHECK(deepspeed(R"({"train_batch_size": 100, "train_micro_batch_size_per_gpu": 1})").code == "bad_plan");
    CHECK(deepspeed(R"({"train_batch_size": 128, "train_micro_batch_size_per_gpu": 1,
                        "gradient_accumulation_steps": 3})")
              .code == "contradiction");
    error =
        deepspeed(R"({"expert_parallel": {"enabled": true, "autoep_size": 8}, "tensor_parallel": {"autotp_size": 2}})",
                  {64, 48, true});
    CHECK(error.code == "contradiction");
    CHECK(deepspeed(std::string(5000, '[')).code == "too_deep");
    CHECK(deepspeed("[1]").code == "no_configuration");
    CHECK(deepspeed("{\"a\": 1").code == "cut_off");
    CHECK(deepspeed(R"({"train_batch_size": 1e999})").code == "bad_number");
}

TEST_CASE("configurations are recognised") {
    const auto name_of = [](const std::string& text) {
        const auto table = recognised_launch(text, "a", true);
        return table ? table->name : table.error().code;
    };
    CHECK(name_of("[parallelism]\ntensor_parallel_degree = 8\n") == "torchtitan");
    CHECK(name_of("ici_fsdp_parallelism: 8\n") == "maxtext");
    CHECK(name_of("python3 -m MaxText.train base.yml ici_fsdp_parallelism=8") == "maxtext");
    CHECK(name_of(R"({"zero_optimization": {"stage": 2}})") == "deepspeed");
    CHECK(name_of("torchrun pretrain_gpt.py --micro-batch-size 1") == "megatron");
    CHECK(name_of("a: 1") == "unknown_framework");
}

TEST_CASE("configurations of torchtitan have the degrees and batches of its published runs") {
    const auto content = shared_text("measured/training_measured.csv");
    if (!content) return;
    auto reader = CsvReader::open(*content, "training_measured.csv");
    REQUIRE(reader);
    reader->leave_out_bad_rows();
    const auto rows = read_training_table(*reader);
    REQUIRE(rows);
    const LaunchTable table = trainer_table("torchtitan");
    std::int64_t compared = 0;
    for (const MeasuredTraining& row : rows->rows) {
        if (row.source.find("torchtitan") == std::string::npos || row.sequences < 1 || row.micro_batch < 1) continue;
        const std::int64_t tensor = std::max<std::int64_t>(row.tensor, 1);
        const std::int64_t pipeline = std::max<std::int64_t>(row.pipeline, 1);
        const std::int64_t context = std::max<std::int64_t>(row.context, 1);
        CAPTURE(row.line);
        if (row.data * tensor * pipeline * context != row.chips) continue;
        if (row.sequences % row.data != 0) continue;
        TrainingLaunch launch;
        launch.plan.tensor = tensor;
        launch.plan.pipeline = pipeline;
        launch.plan.context = context;
        launch.plan.fsdp = row.data;
        launch.plan.zero = launch.plan.replicas() > 1 ? 3 : 0;
        launch.sequence = row.sequence;
        launch.sequences = row.sequences;
        launch.microbatches = pipeline > 1 ? row.sequences / row.data : 1;
        if (pipeline == 1 && row.micro_batch * row.data != row.sequences) continue;
        const LaunchJob job{row.chips, row.layers, false};
        const EmittedLaunch emitted = emit_training(table, launch, job);
        CAPTURE(emitted.text);
        const auto keys = keys_by_line(emitted.text);
        const auto number = [&](const std::string& key, std::int64_t otherwise) {
            const auto found = keys.find(key);
            return found == keys.end() ? otherwise : std::stoll(found->second);
        };
        CHECK(number("parallelism.tensor_parallel_degree", 1) == tensor);
        CHECK(number("parallelism.pipeline_parallel_degree", 1) == pipeline);
        CHECK(number("parallelism.context_parallel_degree", 1) == context);
        CHECK(number("parallelism.data_parallel_shard_degree", -1) == row.data);
        CHECK(number("parallelism.data_parallel_replicate_degree", 1) == 1);
        // the table's batch of a replica is that of a step (lbs)
        CHECK(number("training.local_batch_size", 8) == row.sequences / row.data);
        CHECK(number("training.seq_len", 2048) == row.sequence);
        CHECK(trainer_launch("torchtitan", emitted.text, job).plan.same_axes(launch.plan));
        ++compared;
    }
    MESSAGE(compared, " published runs of torchtitan compared; there are none of DeepSpeed");
    CHECK(compared >= 15);
}

// A recipe's own settings give its batch, and its plan is written with the recipe's keys.
TEST_CASE("configurations of MaxText have the degrees and batches of published recipes") {
    const auto content = shared_text("measured/plans_training.csv");
    if (!content) return;
    const LaunchTable table = trainer_table("maxtext");
    std::istringstream lines(*content);
    std::string line;
    std::getline(lines, line);
    std::map<std::string, std::size_t> column;
    {
        std::istringstream cells(line);
        for (std::string cell; std::getline(cells, cell, ',');) column.emplace(cell, column.size());
    }
    std::int64_t compared = 0;
    std::int64_t unsized = 0;
    while (std::getline(lines, line)) {
        std::vector<std::string> fields;
        std::istringstream cells(line);
        for (std::string cell; std::getline(cells, cell, ',');) fields.push_back(cell);
        if (fields.size() <= column["schedule"]) continue;
        const auto field = [&](const char* key) { return fields[column[key]]; };
        if (field("source").find("AI-Hypercomputer") == std::string::npos) continue;
        if (field("n_accel").empty() || field("global_batch").empty()) {
            ++unsized;
            continue;
        }
        // a chip of TPU v7x is two devices
        const std::int64_t cores = field("machine").starts_with("TPU-v7x") ? 2 : 1;
        const std::int64_t devices = cores * std::stoll(field("n_accel"));
        const std::int64_t context = field("cp").empty() ? 1 : std::stoll(field("cp"));
        std::string text = "python3 -m MaxText.train base.yml per_device_batch_size=" + field("micro_batch") +
                           " max_target_length=" + field("seq");
        std::istringstream settings(field("sharding"));
        std::int64_t sharded = 0;  // 0: what remains
        std::int64_t transpose = 1;
        for (std::string word; settings >> word;) {
            const std::size_t equals = word.find('=');
            const std::string value = word.substr(equals + 1);
            if (value.empty()) continue;
            if (word.starts_with("ici_fsdp_transpose")) {
                transpose = std::stoll(value);
            } else if (word.starts_with("ici_fsdp") && value != "-1") {
                sharded = std::stoll(value);
            }
            text += fmt::format(" {}_parallelism={}", word.substr(0, equals), value);
        }
        if (context > 1) text += fmt::format(" ici_context_parallelism={}", context);
        CAPTURE(line);
        CAPTURE(text);
        const LaunchJob job{devices, 80, true};
        const TrainingLaunch read = trainer_launch("maxtext", text, job);
        CHECK(read.sequences == std::stoll(field("global_batch")));
        CHECK(read.plan.context == context);
        const std::int64_t shards = sharded > 0 ? sharded * transpose : devices / context;
        CHECK(read.plan.fsdp == shards);
        const EmittedLaunch emitted = emit_training(table, read, job);
        CAPTURE(emitted.text);
        const auto keys = keys_by_line(emitted.text);
        CHECK(std::stoll(keys.at("ici_fsdp_parallelism")) == shards);
        if (context > 1) CHECK(std::stoll(keys.at("ici_context_parallelism")) == context);
        const double each = std::stod(keys.at("per_device_batch_size"));
        CHECK(each == std::stod(field("micro_batch")));
        CHECK(keys.at("max_target_length") == field("seq"));
        ++compared;
    }
    MESSAGE(compared, " recipes of MaxText compared, ", unsized, " whose size is chosen at launch");
    CHECK(compared >= 15);
}
