// The options of `roofline plan train`.
#include <algorithm>
#include <chrono>
#include <thread>

#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"
#include "app/cli/train_options.hpp"
#include "app/model_option.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* plan_examples = R"(examples:
  roofline plan train llama-3.1-70b --on h100-sxm:8x16 --batch-tokens 4Mi --seq 8192
  roofline plan train llama-3.1-8b --on h100-sxm:8x8 --batch-tokens 1Mi --mesh tensor=2 --without pipeline,sequence
  roofline plan train mixtral-8x7b --on tpu-v5p:4x4x8 --batch-tokens 2Mi --seq 4096 --tokens 2T --json

)";

void add_nothing(CLI::App& app, Line& line) {
    static_cast<void>(app);
    static_cast<void>(line);
}

Result<What> no_request(Line& line) {
    static_cast<void>(line);
    return fail("usage", "what is to be planned is not given", "roofline plan train MODEL --on SLICE ...");
}

void add_plan(CLI::App& app, Line& line) {
    PlanRequest& plan = line.request<PlanRequest>();
    TrainRequest& train = plan.train;
    app.add_option("model", line.words.model,
                   "a configuration (config.json of a checkpoint), - for standard input, or a name")
        ->type_name("CONFIG.json|NAME")
        ->required();
    repeated(app, "--on", line.words.on, "slice: tpu-v5p:8x8x16, h100-sxm:8x16, my.toml:4x4", "SLICE");
    app.add_option("--batch-tokens", train.batch_tokens, "tokens per step of all chips together; k is 1000, Ki 1024")
        ->type_name("TOKENS");
    app.add_option("--seq", train.sequence,
                   "sequence length in tokens; default: 8192, or the context of the configuration if it is shorter")
        ->type_name("TOKENS");
    repeated(app, "--mesh", train.mesh,
             "degrees of parallelism that are fixed; all others are searched. Axes: data, fsdp, tensor,\nsequence, "
             "context, expert, pipeline",
             "tensor=8");
    repeated(app, "--without", plan.without, "axes that are not used", "pipeline,context");
    app.add_option("--zero", train.zero,
                   "fix the ZeRO stage over replicas: 1 shards optimizer states, 2 also gradients")
        ->type_name("0|1|2");
    app.add_option("--microbatches", train.microbatches, "fix the number of microbatches per step")->type_name("N");
    app.add_option("--schedule", train.schedule,
                   "fix the pipeline schedule: 1f1b, gpipe, interleaved:N (N chunks per stage) or zero-bubble")
        ->type_name("SCHEDULE");
    app.add_option("--remat", train.remat,
                   "fix the recomputation: none, selective (all but matmul results), alternate, full (whole layers),\n"
                   "or names of tensors that are kept; default: none, selective and full are searched")
        ->type_name("none|selective|alternate|full|Hm,O");
    app.add_option("--optimizer", train.optimizer,
                   "adam with moments in f32 or another dtype and, if given, an f32 master copy of the parameters,\nor "
                   "sgd; gradients=f32 for either")
        ->type_name("adam[,moments=DTYPE][,master][,unfused]|sgd");
    app.add_option("--products", train.products,
                   "dtype below 16 bits for matmuls with parameters, forward and backward; tensors are\nstored in bf16")
        ->type_name("fp8|mxfp8|nvfp4");
    app.add_option("--dispatch", train.dispatch,
                   "dtype below 16 bits in which tokens, and their gradients in the backward pass, are sent to experts")
        ->type_name("fp8|mxfp8|nvfp4");
    app.add_option("--tokens", train.tokens, "tokens of the whole training run, for its duration and cost")
        ->type_name("15T");
    add_recovery(app, train);
    app.add_option("--price", train.price, "price of a chip in USD per hour; default: list price of the machine")
        ->type_name("USD");
    repeated(app, "--set", train.sets, "what if: replace a figure of the machine, absolute or relative",
             "hbm.bandwidth=3TB/s|*2");
    app.add_option("--software", train.software,
                   "library, with or without version, whose measurements expected times are based on")
        ->type_name("nccl-2.29");
    add_calibration(app, line.words);
    app.add_flag(
        "--textbook", train.textbook,
        "textbook approximation of collectives: every torus axis is a wrapped ring, without the factor (n-1)/n");
    app.add_option("--plans", plan.shown, "number of plans with different degrees to show; default: 8")->type_name("N");
    app.add_option("--threads", line.words.threads, "threads that search; default: as many as cores")->type_name("N");
    add_formats(app, line.words);
}

Result<What> plan_request(Line& line) {
    PlanRequest& plan = line.request<PlanRequest>();
    ROOFLINE_TRY(plan.train.config, load_model(line.words.model));
    ROOFLINE_TRY(plan.train.machines, load_machines(line.words.on));
    ROOFLINE_TRY(plan.train.calibration, load_calibrations(line.words.calibrations));
    ROOFLINE_TRY(const auto threads, size_option(line.words.threads, "--threads"));
    constexpr std::int64_t most = 1024;
    plan.threads = static_cast<std::size_t>(std::clamp<std::int64_t>(
        threads.value_or(static_cast<std::int64_t>(std::thread::hardware_concurrency())), 1, most));
    plan.clock = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    return What(std::move(plan));
}

}  // namespace

const Command plan_command{"plan", "search for the best plan of a training job", plan_examples, add_nothing,
                           no_request};
const Command plan_train_command{"plan train", "the best way to train a model on a slice, and why the others lose",
                                 plan_examples, add_plan, plan_request};

}  // namespace roofline::core::cli
