#include "predict/compare/measured_training.hpp"

#include <doctest/doctest.h>

#include "base/approx_test.hpp"
#include "predict/compare/training_row_test.hpp"
#include "predict/compare/training_runs_test.hpp"
#include "predict/train/framework.hpp"

using namespace roofline::core;

TEST_CASE("a row is priced as the step that it is") {
    const auto compared = trainings().compare(two_layers(1));
    REQUIRE(compared);
    // 6 FLOPs for each of 8192 tokens and each of 2 x 12 h^2 + V h multiplied parameters; per token and layer attention
    // has 2 matmuls of 2 h T FLOPs forward, half of them masked, and 5 such matmuls backward
    const double multiplying = 2 * 12.0 * 1024 * 1024 + 50304.0 * 1024;
    const double attention = 2 * 8192.0 * (2.0 * 1024 * 1024 / 2) * 7;
    CHECK(compared->prediction.lower_s == approx((6 * 8192.0 * multiplying + attention) / 989.4e12).epsilon(1e-9));
    CHECK(compared->kind == MeasuredKind::training);
    CHECK(compared->slice == "h100-sxm5:1");
    CHECK(compared->strategy.empty());
    CHECK(!compared->memory);
}

TEST_CASE("what a row shares out is its plan") {
    MeasuredTraining row = two_layers(8);
    row.sharding = "fsdp2(zero3)";
    auto setup = setup_of(row);
    REQUIRE(setup);
    CHECK(setup->plan.fsdp == 8);
    CHECK(setup->plan.data == 1);
    CHECK(setup->batch.microbatches == 1);
    row.sharding = "zero1(dist-opt)";
    row.expert = 4;
    row.micro_batch = 2;
    setup = setup_of(row);
    REQUIRE(setup);
    CHECK(setup->plan.data == 2);
    CHECK(setup->plan.expert == 4);
    CHECK(setup->plan.zero == 1);
    CHECK(setup->batch.microbatches == 4);
    row.expert = 1;
    row.data = 2;
    row.pipeline = 2;
    row.context = 2;
    row.chunks = 3;
    row.exchanged_heads = true;
    setup = setup_of(row);
    REQUIRE(setup);
    CHECK(setup->plan.sequence == 2);
    CHECK(setup->plan.context == 1);
    CHECK(schedule_text(setup->schedule) == "interleaved:3");
    // 64 sequences on two replicas: one at a time, or, if the micro-batch is that of a whole step, as many
    // micro-batches as stages
    row.micro_batch = 0;
    CHECK(setup_of(row)->batch.microbatches == 32);
    row.micro_batch = 32;
    row.local_batch = true;
    setup = setup_of(row);
    REQUIRE(setup);
    CHECK(setup->batch.microbatches == 2);
    // the weights of FSDP stay gathered in a pipeline
    row.sharding = "fsdp2(zero3)";
    setup = setup_of(row);
    REQUIRE(setup);
    CHECK(setup->plan.fsdp == 1);
    CHECK(setup->plan.data == 2);
    CHECK(setup->plan.zero == 1);
}

TEST_CASE("the more a row computes again, the later its bound; what nothing reads is not computed again") {
    MeasuredTrainingRuns priced = trainings();
    MeasuredTraining row = two_layers(1);
    const auto bound = [&](const char* recompute) {
        row.recompute = recompute;
        const auto compared = priced.compare(row);
        REQUIRE(compared);
        return compared->prediction.lower_s;
    };
    const double none = bound("none");
    CHECK(bound("unknown") == none);
    // per layer 8 h^2 parameters and the two matmuls of attention are recomputed; the result of the MLP's last matmul
    // is not used
    const double again = 2 * 8192.0 * (2 * 8.0 * 1024 * 1024 + 2 * (2.0 * 1024 * 1024 / 2));
    CHECK(bound("full") == approx(none + again / 989.4e12).epsilon(1e-9));
}

TEST_CASE("products with parameters are computed in the dtype that the row says, attention and the head are not") {
    MeasuredTraining row = two_layers(1);
    row.dtype = "fp8-cs";
    // wide enough that memory traffic, which does not become faster, takes less time
    row.hidden = 8192;
    row.ffn = 32768;
    row.heads = 64;
    const auto compared = trainings().compare(row);
    REQUIRE(compared);
    const double layers = 2 * 12.0 * 8192 * 8192;
    const double head = 50304.0 * 8192;
    const double attention = 2 * 8192.0 * (2.0 * 8192 * 1024 / 2) * 7;
    CHECK(compared->prediction.lower_s ==
          approx(6 * 8192.0 * layers / 1978.9e12 + (6 * 8192.0 * head + attention) / 989.4e12).epsilon(1e-6));
    row.dtype = "bf17";
    CHECK(reason(row) == "the dtype `bf17` is not known");
}

TEST_CASE("a model with experts needs to say how they are spread") {
    MeasuredTraining row = two_layers(8);
    row.model = "mixtral-8x7b";
    row.layers = row.hidden = row.ffn = row.heads = row.vocab = 0;
    row.expert = 0;
    CHECK(reason(row) == "the model has experts, but ep is empty");
}

TEST_CASE("what is held is compared where the row says it, with a time or without one") {
    MeasuredTraining row = two_layers(1);
    row.step_s = 0;
    row.memory_bytes = 1e10;
    row.memory_what = "allocated";
    const auto compared = trainings().compare(row);
    REQUIRE(compared);
    CHECK(!compared->timed());
    REQUIRE(compared->memory);
    CHECK(compared->memory->measured == 1e10);
    CHECK(compared->memory->what == "allocated");
    // 16 bytes per parameter: its value, its gradient, an f32 copy and two moments; activations come on top
    const double params = 2 * (12.0 * 1024 * 1024 + 13 * 1024) + 50304.0 * 1024 + 1024 * 1024 + 2 * 1024;
    CHECK(compared->memory->predicted > 16 * params);
    row.f32_gradients = true;
    const auto wide = trainings().compare(row);
    REQUIRE(wide);
    CHECK(wide->memory->predicted - compared->memory->predicted == approx(2 * params).epsilon(1e-6));
}

TEST_CASE("what a row does not say is what its publisher means") {
    MeasuredTraining row = two_layers(1);
    row.memory_bytes = 1e10;
    row.recompute = "selective";
    const auto plain = trainings().compare(row);
    REQUIRE(plain);
    CHECK(plain->memory->what.empty());
    row.memory_what = "reserved";
    const auto reserved = trainings().compare(row);
    REQUIRE(reserved);
    const auto step_model = built_in_step_model();
    REQUIRE(step_model);
    CHECK(reserved->memory->predicted == approx(plain->memory->predicted * step_model->reserved));
    row.source = "pytorch/torchtitan";
    TrainerHabits every_second;
    every_second.selective = "alternate";
    CHECK(setup_of(row, every_second)->options.remat == Remat::alternate);
    row.memory_what.clear();
    const auto titan = trainings().compare(row);
    REQUIRE(titan);
    CHECK(titan->memory->what == "reserved");
    // Of a layer's matmuls with parameters (queries, keys, values, output, up and down, all in bf16) those of keys and
    // output, each with 8192 tokens of 1024, are recomputed, and the result of down is not used. The scores of 16 heads
    // are never stored. The gradient of the logits is stored in f32 instead of bf16, and the logits in bf16 leave a
    // block that no f32 tensor reuses.
    const double loss = 2.0 * 8192 * 50304 * (step_model->reserved + 1);
    CHECK(reserved->memory->predicted + loss - titan->memory->predicted >= 2 * 2.0 * 2 * 8192 * 1024);
    row.table = "runs_202506.md";  // compiled: no log-probabilities and no gradient in f32
    CHECK(trainings().compare(row)->memory->predicted < titan->memory->predicted - loss);
    row.memory_what = "allocated";
    CHECK(trainings().compare(row)->memory->what == "allocated");
}

TEST_CASE("what a device is said to use has an allocator's blocks and a process's context in it") {
    MeasuredTraining row = two_layers(1);
    row.memory_bytes = 1e10;
    row.memory_what = "reserved";
    const auto reserved = trainings().compare(row);
    row.memory_what = "used";
    row.source = "InternLM/InternEvo";
    const auto used = trainings().compare(row);
    REQUIRE(reserved);
    REQUIRE(used);
    // this publisher's GB are GiB
    CHECK(used->memory->measured == approx(1.073741824e10));
    // an unfused optimizer takes 12 bytes per parameter of two_layers, less than the loss takes, so its blocks are
    // allocated in addition to those of the loss
    const double params = 2 * (12.0 * 1024 * 1024 + 13 * 1024) + 50304.0 * 1024 + 1024 * 1024 + 2 * 1024;
    CHECK(used->memory->predicted - reserved->memory->predicted ==
          approx(12 * params + 0.9 * 1073741824.0).epsilon(1e-3));
    row.memory_in_gib = true;
    CHECK(trainings().compare(row)->memory->measured == 1e10);
}

TEST_CASE("how a framework runs a step is what its entry says") {
    const auto row = two_layers(1, 8);
    TrainerHabits habits;
    const auto plain = setup_of(row, habits);
    REQUIRE(plain);
    CHECK(plain->plan.tensor_tokens);
    CHECK(!(plain->stored_attention || plain->attention_dropout || plain->pytorch_kernels || plain->gradients_in_turn));
    habits.whole_tokens = habits.stored_attention = habits.attention_dropout = true;
    habits.pytorch_kernels = habits.gradients_in_turn = true;
    const auto old = setup_of(row, habits);
    REQUIRE(old);
    CHECK(!old->plan.tensor_tokens);
    CHECK((old->stored_attention && old->attention_dropout && old->pytorch_kernels && old->gradients_in_turn));
    // a recipe's capacity precedes that of its publisher
    CHECK(plain->capacity == 0);
    habits.capacity = 2;
    CHECK(setup_of(row, habits)->capacity == 2);
    auto limited = row;
    limited.capacity = 1.25;
    CHECK(setup_of(limited, habits)->capacity == 1.25);
}

// The question that `roofline train` asks for the row's plan, with what is known of a framework.
TEST_CASE("a measured run is priced as `train` prices it with the framework that ran it") {
    struct Run {
        const char* source;
        const char* table;
        const char* framework;
        const char* sharding;
        std::int64_t tensor;
    };
    const Run runs[] = {
        {"pytorch/torchtitan", "", "torchtitan-2025", "fsdp2(zero3)", 1},
        {"pytorch/torchtitan", "runs_202506.md", "torchtitan", "fsdp2(zero3)", 1},
        {"PrimeIntellect-ai/prime-rl", "", "prime-rl", "fsdp", 1},
        {"InternLM/InternEvo", "", "internevo", "zero1(all-dp)", 1},
        {"mosaicml/llm-foundry", "", "llm-foundry", "fsdp", 1},
        {"NVIDIA-NeMo/Megatron-Bridge", "", "nemo-25.11", "zero1(dist-opt)", 2},
        {"NVIDIA/Megatron-LM", "git 2e90a342f5", "megatron-lm-2021", "none", 2},
    };
    const auto calibrations = std::make_shared<Calibrations>(Calibrations::built_in());
    auto priced = MeasuredTrainingRuns::make(*MeasuredSystems::make(), *calibrations);
    REQUIRE(priced);
    for (const Run& run : runs) {
        for (const char* recompute : {"none", "full"}) {
            CAPTURE(run.framework);
            CAPTURE(recompute);
            MeasuredTraining row = two_layers(4, run.tensor);
            row.source = run.source;
            row.table = run.table;
            row.sharding = run.sharding;
            row.recompute = recompute;
            row.memory_bytes = 1e10;
            const auto compared = priced->compare(row);
            REQUIRE(compared);
            TrainQuestion question;
            question.model = *build_model(*TrainedModels::built_in()->config(row), row.sequence);
            question.slice = MeasuredSystems::make()->slice_of(row.system, row.chips)->system.slice;
            question.setup = *setup_of(row);
            question.setup.options.master = false;
            question.setup.held = {};
            use_framework(*framework_named(run.framework), true, question);
            const auto answer = predict_training(std::move(question), calibrations);
            REQUIRE(answer);
            REQUIRE(answer->step->times.expected);
            CHECK(*answer->step->times.expected == compared->prediction.expected_s);
            CHECK(answer->reported_bytes.value_or(answer->step->memory.tensors()) == compared->memory->predicted);
        }
    }
}

// With a capacity of 80 GiB; allocators return free blocks before they exceed it.
TEST_CASE("an allocator reserves no more than a chip has, where its tensors fit") {
    constexpr double capacity = 80 * 1.073741824e9;
    auto row = two_layers(1);
    row.memory_bytes = 8.4e10;
    row.memory_what = "allocated";
    MeasuredTrainingRuns priced = trainings();
    const auto allocated = [&](std::int64_t sequences) {
        row.sequences = row.micro_batch = sequences;
        return priced.compare(row)->memory->predicted;
    };
    const double eight = allocated(8);
    const double each = (allocated(16) - eight) / 8;
    const double tensors = allocated(8 + static_cast<std::int64_t>((8.4e10 - eight) / each));
    REQUIRE((tensors < capacity && tensors * 1.03 > capacity));
    row.memory_what = "reserved";
    CHECK(priced.compare(row)->memory->predicted == capacity);
    row.memory_bytes = 9e10;  // a chip with more memory
    CHECK(priced.compare(row)->memory->predicted > capacity);
}

TEST_CASE("the memory of a row whose words say too little is not compared, its time is") {
    MeasuredTrainingRuns priced = trainings();
    MeasuredTraining row = two_layers(1);
    row.memory_bytes = 1e10;
    row.source = "PrimeIntellect-ai/prime-rl";
    row.recompute = "full";
    CHECK(priced.why_memory_skipped(row).empty());
    CHECK(priced.compare(row)->memory);
    row.recompute = "selective";
    CHECK(priced.why_memory_skipped(row) ==
          "it is not published what PrimeIntellect-ai/prime-rl keeps with recompute `selective`");
    CHECK(!priced.compare(row)->memory);
    CHECK(priced.compare(row)->timed());
    row.memory_bytes = 0;
    CHECK(priced.why_memory_skipped(row).empty());
}

TEST_CASE("a row that cannot be priced says why") {
    MeasuredTraining row = two_layers(8);
    row.data = 4;
    CHECK(reason(row) == "dp, tp, pp and cp do not multiply to n_accel");
    row.data = 0;
    CHECK(reason(row) == "the plan is incomplete: dp, tp or pp is empty");
    row = two_layers(8);
    row.sharding = "hsdp";
    CHECK(reason(row) == "parameters are sharded over some of the replicas, but the table does not say which");
    row = two_layers(8);
    row.expert = 3;
    CHECK(reason(row) == "experts are spread over more chips than there are replicas, which no plan can express");
    row = two_layers(8);
    row.sequences = 60;
    CHECK(reason(row) == "the batch is not a multiple of dp and micro_batch");
    row = two_layers(8);
    row.system = "abacus";
    CHECK(reason(row) == "the system `abacus` is not known");
    row = two_layers(8);
    row.params = 1e9;
    CHECK(reason(row) == "the sizes of `gpt-toy` give 0.07775 G parameters, but the row says 1 G");
    row = two_layers(8);
    row.data = 2;
    row.pipeline = 4;
    CHECK(reason(row) == "the pipeline has more stages than layers");
}

TEST_CASE("a slice is as few nodes as hold its chips, a torus the most even one") {
    MeasuredTrainingRuns priced = trainings();
    MeasuredTraining row = two_layers(16);
    auto compared = priced.compare(row);
    REQUIRE(compared);
    CHECK(compared->slice == "h100-sxm5:8x2");
    row = two_layers(64);
    row.system = "TPU-v5p";
    compared = priced.compare(row);
    REQUIRE(compared);
    CHECK(compared->slice == "tpu-v5p:4x4x4");
}

TEST_CASE("experts that attention's tensor axis does not split lie over it") {
    MeasuredTraining row = two_layers(8, 2);
    row.expert = 8;
    row.expert_tensor = 1;
    const auto setup = setup_of(row);
    REQUIRE(setup);
    // 8 experts' places on 16 chips: both members of tensor hold whole experts, and 4 of the 8 replicas others
    CHECK(setup->plan.experts_over_tensor);
    CHECK(setup->plan.tensor == 2);
    CHECK(setup->plan.expert == 4);
    CHECK(setup->plan.data == 2);
    CHECK(setup->plan.chips() == 16);
    row.expert_tensor = 4;
    CHECK(!setup_of(row));
    row.expert_tensor = 2;  // split by columns as attention is: an axis of its own
    const auto split = setup_of(row);
    REQUIRE(split);
    CHECK(!split->plan.experts_over_tensor);
    CHECK(split->plan.expert == 8);
}

TEST_CASE("what a table says of overlap is added to what is known of its publisher") {
    MeasuredTraining row = two_layers(8);
    row.overlapped = {"expert", "tensor"};
    TrainerHabits habits;
    habits.overlapped = {"tensor"};
    auto setup = setup_of(row, habits);
    REQUIRE(setup);
    CHECK(setup->overlapped == std::vector<std::string>{"tensor", "expert"});
    CHECK(!setup->gradients_in_turn);
    row.in_turn = true;
    setup = setup_of(row, habits);
    REQUIRE(setup);
    CHECK(setup->gradients_in_turn);
}

TEST_CASE("a framework that repeats whole layers takes the time of the last matmul of the MLP once more") {
    MeasuredTraining row = two_layers(1);
    row.recompute = "full";
    row.source = "nobody";
    const auto some = trainings().compare(row);
    row.source = "mlcommons/training_results_v5.1";
    const auto whole = trainings().compare(row);
    REQUIRE(some);
    REQUIRE(whole);
    // in each of two layers 2 FLOPs for each of 8192 tokens and 4 h^2 parameters
    CHECK(whole->prediction.lower_s - some->prediction.lower_s ==
          approx(2 * 2 * 8192.0 * 4 * 1024 * 1024 / 989.4e12).epsilon(1e-6));
}

TEST_CASE("a row with another number of experts than its model is refused") {
    MeasuredTraining row = two_layers(8);
    row.experts = 8;
    CHECK(reason(row) == "the row says 8 experts, but `gpt-toy` has 0");
}

TEST_CASE("a rate in FLOP/s is a time where the convention is known, and policies and slices are what rows say") {
    MeasuredTraining row = two_layers(8);
    row.sharding = "fsdp";
    row.data = row.tensor = row.pipeline = 0;
    row.tensor = 2;
    row.chips = 16;
    row.micro_batch = 2;
    TrainerHabits habits;
    habits.chip_batch = true;
    habits.compiled = true;
    habits.policies = {{"minimal", "selective"}, {"some", "Q,Kc"}};
    row.policy = "some";
    auto setup = setup_of(row, habits);
    REQUIRE(setup);
    CHECK(setup->plan.fsdp == 8);
    CHECK(setup->plan.tensor == 2);
    CHECK(setup->batch.microbatches == 1);
    CHECK(setup->compiled);
    CHECK(setup->options.remat == Remat::named);
    CHECK(setup->options.kept == std::vector<std::string>{"Q", "Kc"});
    row.policy = "minimal";
    CHECK(setup_of(row, habits)->options.remat == Remat::selective);
    row.remat = "full";  // a recipe's
    CHECK(setup_of(row, habits)->options.remat == Remat::full);
    row.data_over_slices = true;
    CHECK(!setup_of(row, habits));
    row.slices = 4;
    setup = setup_of(row, habits);
    REQUIRE(setup);
    CHECK(setup->plan.data == 4);
    CHECK(setup->plan.fsdp == 2);

    row = two_layers(1);
    row.step_s = 0;
    row.model_flops = 100e12;
    CHECK(reason(row) == "only a rate in FLOP/s is given, and how its publisher counts FLOPs is unknown");
    row.source = "ai-hypercomputer/maxtext";
    const auto compared = trainings().compare(row);
    REQUIRE(compared);
    // 6 FLOPs for each of 8192 tokens and 2 x 12 h^2 + V h parameters, and 12 h T of each of two layers for a token
    const double multiplying = 2 * 12.0 * 1024 * 1024 + 50304.0 * 1024;
    const double flops = 8192 * (6 * multiplying + 2 * 12.0 * 1024 * 1024);
    CHECK(compared->measured_s == approx(flops / 100e12).epsilon(1e-3));
}
