#include "predict/train/framework.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "base/approx_test.hpp"
#include "model/models_test.hpp"
#include "network/slices_test.hpp"

using namespace roofline::core;

namespace {

TrainQuestion question(std::int64_t fsdp, std::int64_t tensor) {
    TrainQuestion question;
    question.model = model_named("llama-3.2-1b", 2048);
    question.slice = catalogue_slice("h100-sxm", "8");
    question.setup.plan.fsdp = fsdp;
    question.setup.plan.tensor = tensor;
    question.setup.batch = {16 * 2048, 2048, 1};
    question.setup.options.input_gradients = false;
    return question;
}

TrainAnswer answer_of(TrainQuestion question) {
    auto answer = predict_training(std::move(question), std::make_shared<Calibrations>(Calibrations::built_in()));
    REQUIRE(answer);
    return std::move(*answer);
}

TrainAnswer answer_with(const char* framework, std::int64_t fsdp, std::int64_t tensor) {
    TrainQuestion asked = question(fsdp, tensor);
    use_framework(*framework_named(framework), true, asked);
    return answer_of(std::move(asked));
}

constexpr double logits = 2.0 * 2048 * 128256;  // of two sequences on each of eight chips

}  // namespace

TEST_CASE("without a framework times are those of the default, and memory is that of tensors alone") {
    const TrainAnswer plain = answer_of(question(8, 1));
    const TrainAnswer named = answer_with("megatron-lm", 8, 1);
    CHECK(*plain.step->times.expected == *named.step->times.expected);
    CHECK(plain.step->times.lower == named.step->times.lower);
    // gradients of 1,235,814,400 parameters take 4 bytes instead of 2
    CHECK(named.step->memory.gradients - plain.step->memory.gradients == approx(2 * 1235814400.0 / 8));
    CHECK(plain.step->memory.optimizer == named.step->memory.optimizer);
    // logits and log-probabilities in f32 instead of logits in bf16
    CHECK(named.step->memory.total() - plain.step->memory.total() > 2 * logits);
}

TEST_CASE("what a framework overlaps is shorter, where the plan has the axis") {
    const TrainAnswer plain = answer_of(question(4, 2));
    const TrainAnswer nemo = answer_with("nemo", 4, 2);
    CHECK(*nemo.step->times.expected < *plain.step->times.expected);
    CHECK(nemo.overlapped == std::vector<std::string>{"tensor"});
    CHECK(nemo.step->times.lower == plain.step->times.lower);
    CHECK(answer_with("nemo", 8, 1).overlapped.empty());
}

TEST_CASE("a framework with a caching allocator needs more memory than tensors, a measured 1.054 times") {
    const TrainAnswer plain = answer_of(question(8, 1));
    const TrainAnswer nemo = answer_with("nemo", 8, 1);
    const TrainingMemory& memory = nemo.step->memory;
    CHECK(plain.step->memory.overhead() == 0);
    CHECK(memory.overhead() == approx(0.054 * memory.tensors()));
    CHECK(memory.total() == approx(1.054 * memory.tensors()));
    CHECK(answer_with("maxtext", 8, 1).step->memory.overhead() == 0);
    const TrainingMemory evo = answer_with("internevo", 8, 1).step->memory;
    CHECK(evo.overhead() == approx(0.054 * evo.tensors() + 0.9 * 1073741824));
    TrainingMemory full;
    full.activations = full.capacity.emplace(100);
    CHECK(full.fits());
    full.reserved = 1.001;
    CHECK(!full.fits());
}

TEST_CASE("tensors that fit only without an allocator are noted where no framework is named") {
    TrainingMemory memory;
    memory.activations = 96;
    memory.capacity = 100;  // 96 fit, 1.054 times as many do not
    std::optional<Framework> framework;
    CHECK_FALSE(allocator_note(framework, memory));
    framework = *default_framework(catalogue_slice("h100-sxm", "8").machine);
    REQUIRE(framework);
    const auto note = allocator_note(framework, memory);
    REQUIRE(note);
    CHECK(note->find("96.0 % of the memory") != std::string::npos);
    CHECK(note->find("5.4 % more") != std::string::npos);
    memory.activations = 94;
    CHECK_FALSE(allocator_note(framework, memory));
    memory.activations = 101;
    CHECK_FALSE(allocator_note(framework, memory));
    memory.activations = 96;
    CHECK_FALSE(allocator_note(*framework_named("megatron-lm"), memory));
    framework->name = "maxtext";
    CHECK_FALSE(allocator_note(framework, memory));
}

TEST_CASE("a framework may keep inputs of activation functions in fewer bits, which changes the memory alone") {
    const TrainAnswer plain = answer_of(question(8, 1));
    TrainQuestion asked = question(8, 1);
    use_framework(*framework_named("mine",
                                   "[[trainer]]\nframework = [\"mine\"]\nloss = \"compiled\"\n"
                                   "kept_products = \"fp8\"\n"),
                  true, asked);
    const TrainAnswer narrow = answer_of(std::move(asked));
    // two matmuls of the MLP in 16 layers, 8192 wide, two sequences of 2048 tokens, a byte less each
    const double less = 2.0 * 16 * 8192 * 2 * 2048;
    CHECK(plain.step->memory.activations - narrow.step->memory.activations == approx(less));
    CHECK(*plain.step->times.expected == *narrow.step->times.expected);
}

TEST_CASE("full recomputation repeats what nothing reads only in frameworks that do so") {
    const auto flops = [](const char* framework) {
        TrainQuestion asked = question(8, 1);
        asked.setup.options.remat = Remat::full;
        if (framework != nullptr) use_framework(*framework_named(framework), true, asked);
        return answer_of(std::move(asked)).step->program.analysis.total.seconds_of("math").value_or(0) * 989.4e12;
    };
    // the last matmul of the MLP: 16 layers, 2048 x 8192, two sequences of 2048 tokens
    const double last = 2.0 * 16 * 2048 * 8192 * 2 * 2048;
    CHECK(flops("megatron-lm") - flops("torchtitan") == approx(last));
    CHECK(flops(nullptr) == approx(flops("megatron-lm")));
}

TEST_CASE("PyTorch's kernels take as much longer as the model of steps says") {
    const TrainAnswer plain = answer_of(question(8, 1));
    const TrainAnswer foundry = answer_with("llm-foundry", 8, 1);
    CHECK(foundry.step->times.parts->pytorch);
    CHECK(*foundry.step->times.expected == approx(seconds_of(*built_in_step_model(), *foundry.step->times.parts)));
    StepParts same = *foundry.step->times.parts;
    same.pytorch = false;
    CHECK(same == *plain.step->times.parts);
}

TEST_CASE("habits of FSDP and ZeRO hold where the plan has these") {
    TrainSetup setup;
    setup.habits.fsdp_units = setup.habits.flat_optimizer = setup.habits.copied_norm = true;
    setup.habits.pipeline_buffers = true;
    CHECK(framework_memory(setup) == FrameworkHabits{});
    setup.plan.fsdp = 8;
    FrameworkHabits expected;
    expected.fsdp_units = true;
    CHECK(framework_memory(setup) == expected);
    setup.plan.fsdp = 1;
    setup.plan.data = 8;
    setup.plan.zero = 1;
    expected.flat_optimizer = expected.copied_norm = true;
    CHECK(framework_memory(setup) == expected);
    setup.plan.pipeline = 2;
    expected.pipeline_buffers = true;
    CHECK(framework_memory(setup) == expected);
}

TEST_CASE("selective recomputation is what the framework calls so; a given optimizer is not the framework's") {
    TrainQuestion asked = question(8, 1);
    asked.setup.options.remat = Remat::selective;
    asked.setup.options.master = false;
    use_framework(*framework_named("internevo"), false, asked);
    CHECK(!asked.setup.options.unfused);
    CHECK(!asked.setup.options.master);
    CHECK(asked.setup.options.remat == Remat::selective);
    use_framework(*framework_named("internevo"), true, asked);
    CHECK(asked.setup.options.unfused);
    CHECK(asked.setup.options.master);
    use_framework(*framework_named("torchtitan"), true, asked);
    CHECK(asked.setup.options.remat == Remat::alternate);
    CHECK(asked.framework->name == "torchtitan");
}

TEST_CASE("a file describes a framework of one's own") {
    const auto own = framework_named("mine.toml", "[[trainer]]\nframework = [\"mine\"]\noverlapped = [\"expert\"]\n");
    REQUIRE(own);
    CHECK(own->name == "mine");
    CHECK(own->habits.overlapped == std::vector<std::string>{"expert"});
    CHECK(framework_named("mine.toml", "[[trainer]]\nnames = [\"mine\"]\n").error().code == "no_framework");
    CHECK(!framework_named("mine.toml", "[[trainer]]\nframework = 3\n"));
}
