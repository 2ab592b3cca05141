// Benchmarks of a training step with 126 layers under a plan: from its configuration to the answer, and repeated
// pricing of the compiled step.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/request.hpp"
#include "app/system_option.hpp"
#include "bound/analysis.hpp"
#include "calibrate/compiled_expected.hpp"
#include "import/model_config.hpp"
#include "predict/train/train_step.hpp"
#include "programs.hpp"

namespace {

using namespace roofline::core;

// Llama 3.1 405B with its published sizes.
const std::string config_text = R"({"model_type": "llama", "hidden_size": 16384, "intermediate_size": 53248,
    "num_hidden_layers": 126, "num_attention_heads": 128, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 131072, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})";
constexpr std::int64_t sequence = 4096;
constexpr std::int64_t sequences = 512;

void train(benchmark::State& state) {
    TrainRequest request;
    request.config = {"config.json", config_text};
    request.machines = {{"h100-sxm:8x64", {}}};
    request.batch_tokens = "2Mi";
    request.sequence = "4096";
    request.mesh = {"fsdp=64,tensor=8"};
    request.remat = "full";
    bench::answered(state, {request, Format::json, false});
}

Result<TrainStep> step() {
    auto slice = resolve_slice({"h100-sxm:8x64", {}}, {});
    if (!slice) return fail(slice.error());
    auto config = parse_config(config_text, "config.json");
    if (!config) return fail(config.error());
    auto model = build_model(*config, sequence);
    if (!model) return fail(model.error());
    TrainSetup setup;
    setup.plan.fsdp = 64;
    setup.plan.tensor = 8;
    setup.batch = {sequences * sequence, sequence, 1};
    const StepPricing pricing{std::make_shared<Calibrations>(Calibrations::built_in()), "", false, false, {}};
    std::vector<std::string> notes;
    return train_step(*model, setup, *slice, pricing, notes);
}

// Computes the times of all resources and the bounds, with a different batch in every iteration.
void step_priced(benchmark::State& state) {
    const auto made = step();
    if (bench::skipped(state, made)) return;
    const CompiledProgram compiled(made->program.program, made->program.analysis, {"B"});
    std::vector<double> seconds(compiled.places());
    double batch = sequences;
    for (auto _ : state) {
        benchmark::DoNotOptimize(compiled.price({&batch, 1}, seconds));
        batch = batch < 4 * sequences ? batch + 64 : sequences;
    }
}

// Computes the expected time of each kernel and each collective.
void step_expected(benchmark::State& state) {
    const auto made = step();
    if (bench::skipped(state, made)) return;
    const Prediction& answer = made->program;
    if (!answer.models.missing.empty()) {
        state.SkipWithError("no calibration");
        return;
    }
    const CompiledExpected compiled(answer.program, answer.analysis, answer.system, answer.models, {"B"});
    std::vector<double> scratch(compiled.places());
    double batch = sequences;
    for (auto _ : state) {
        benchmark::DoNotOptimize(compiled.evaluate({&batch, 1}, scratch));
        batch = batch < 4 * sequences ? batch + 64 : sequences;
    }
}

BENCHMARK(train)->Unit(benchmark::kMillisecond);
BENCHMARK(step_priced)->Unit(benchmark::kMicrosecond);
BENCHMARK(step_expected)->Unit(benchmark::kMicrosecond);

}  // namespace
