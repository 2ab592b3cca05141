// The options of `roofline train`.
#include "app/cli/train_options.hpp"

#include <algorithm>
#include <chrono>

#include "app/cli/commands.hpp"
#include "app/cli/files.hpp"
#include "app/model_option.hpp"
#include "base/threads.hpp"

namespace roofline::core::cli {

namespace {

constexpr const char* train_examples = R"(examples:
  roofline train llama-3.1-70b --on tpu-v5p:8x8x16 --batch-tokens 4Mi --seq 4096 --remat full
  roofline train config.json --on h100-sxm:8x16 --batch-tokens 1Mi --seq 4096 --mesh fsdp=16,tensor=8
  roofline train llama-3.1-8b --on h100-sxm:8x8 --batch-tokens 1Mi     with the fastest plan
  roofline train llama-3.1-70b --on tpu-v5p:16x20x28 --tokens 15T --seq 4096 --mfu 0.4    duration and cost
  roofline train llama-3.1-8b --on h100-sxm:8 --batch-tokens 128Ki --seq 4096 --png step.png

)";

void add_training_plan(CLI::App& app, TrainRequest& train) {
    add_batch(app, train);
    repeated(
        app, "--mesh", train.mesh,
        "degrees of parallelism; their product is the number of chips of the slice. Axes: data, fsdp, "
        "tensor,\nsequence, context, expert, pipeline; default: the fastest plan that fits is searched, where --zero,\n"
        "--microbatches, --schedule and --remat fix what they say",
        "fsdp=16,tensor=8");
    app.add_option("--zero", train.zero,
                   "ZeRO stage over the data axis: 1 shards optimizer states, 2 also gradients, 3 also parameters,\nas "
                   "fsdp does; 3 needs --mesh, because a search has fsdp for it")
        ->type_name("1|2|3");
    app.add_option("--microbatches", train.microbatches, "number of microbatches per step; with --mesh by default 1")
        ->type_name("N");
    app.add_option("--schedule", train.schedule,
                   "pipeline schedule: 1f1b, gpipe, interleaved (interleaved:4 for 4 chunks per stage) or zero-bubble")
        ->type_name("SCHEDULE");
    app.add_option("--remat", train.remat,
                   "recomputation in the backward pass: none, selective (all but matmul results), alternate\n(also "
                   "every second matmul result), full (whole layers), or names of tensors that are kept")
        ->type_name("none|selective|alternate|full|Hm,O");
    add_arithmetic(app, train);
}

void add_train(CLI::App& app, Line& line) {
    TrainRequest& train = line.request<TrainRequest>();
    add_model(app, line.words);
    repeated(app, "--on", line.words.on,
             "slice: tpu-v5p:8x8x16, h100-sxm:8x16, my.toml:4x4; repeat for one column per slice", "SLICE");
    add_training_plan(app, train);
    app.add_option("--mfu", line.words.mfu, "assumed fraction of peak FLOP/s instead of a prediction: 0.4 or 40%")
        ->type_name("FRACTION");
    add_run(app, line.words, train);
    add_sweeps(app, train.sweeps, "batch-tokens, seq or microbatches");
    app.add_flag("--explain", train.explain,
                 "show the derivation of the step: formulas, substituted sizes, constants with sources");
    app.add_flag("--program", train.program, "print only the program of a step in the notation");
    add_plan_from(app, line.words);
    add_emit(app, train.emit, trained_by);
    add_plots(app, line.plots, "the timeline of a step, or with --sweep the curves");
    add_formats(app, line.words);
}

Result<What> train_request(Line& line) {
    TrainRequest& train = line.request<TrainRequest>();
    ROOFLINE_CHECK(check_plots(line.words, line.plots));
    ROOFLINE_TRY(train.config, load_model(line.words.model));
    ROOFLINE_TRY(train.machines, load_machines(line.words.on));
    ROOFLINE_TRY(train.calibration, load_calibrations(line.words.calibrations));
    ROOFLINE_TRY(train.framework, load_framework(train.framework.name));
    ROOFLINE_TRY(train.search, search_control(line.words.threads));
    ROOFLINE_TRY(train.plan_from, load_launch(line.words.plan_from));
    if (!line.words.mfu.empty()) {
        ROOFLINE_TRY(train.mfu, parse_fraction(line.words.mfu, "share of the peak", "write --mfu 0.4 or 40%"));
    }
    train.plot = !line.plots.svg.empty() || !line.plots.png.empty();
    return What(std::move(train));
}

}  // namespace

void add_model(CLI::App& app, Words& words) {
    app.add_option("model", words.model,
                   "a configuration (config.json of a checkpoint), - for standard input, or a name")
        ->type_name("CONFIG.json|NAME")
        ->required();
}

void add_batch(CLI::App& app, TrainRequest& train) {
    app.add_option("--batch-tokens", train.batch_tokens, "tokens per step of all chips together; k is 1000, Ki 1024")
        ->type_name("TOKENS");
    app.add_option("--seq", train.sequence,
                   "sequence length in tokens; default: 8192, or the context of the configuration if it is shorter")
        ->type_name("TOKENS");
}

Result<SearchControl> search_control(const std::string& threads) {
    ROOFLINE_TRY(const auto number,
                 size_option(threads, "--threads", "for example 4; without the option as many as cores"));
    constexpr std::int64_t most = 1024;
    const auto cores = static_cast<std::int64_t>(most_threads());
    SearchControl control;
    control.threads = static_cast<std::size_t>(std::clamp<std::int64_t>(number.value_or(cores), 1, most));
    control.clock = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    return control;
}

Result<NamedText> load_framework(const std::string& name) {
    NamedText framework{name, ""};
    if (!name.ends_with(".toml")) return framework;
    ROOFLINE_TRY(framework.text, read_file(name));
    return framework;
}

void add_arithmetic(CLI::App& app, TrainRequest& train) {
    app.add_option("--lora", train.lora,
                   "rank of low-rank adapters (LoRA): they are trained, everything else is frozen")
        ->type_name("RANK");
    app.add_option(
           "--lora-on", train.lora_on,
           "projections with adapters by their names in a checkpoint: q,v is q_proj,v_proj; q+k+v have one first\n"
           "factor; attention, all-linear; default: attention")
        ->type_name("q+k+v,o|all-linear");
    app.add_option("--frozen-dtype", train.frozen_dtype,
                   "dtype in which frozen matrices are stored (QLoRA); they are converted where they are used")
        ->type_name("fp8|int8|nvfp4|int4");
    app.add_option(
           "--optimizer", train.optimizer,
           "adam with moments in f32 or another dtype and, if given, an f32 master copy of the parameters; unfused "
           "adds\nthe intermediate results of unfused tensor operations; or sgd; gradients=f32 for either")
        ->type_name("adam[,moments=DTYPE][,master][,unfused]|sgd");
    app.add_option("--framework", train.framework.name,
                   "training framework, with or without a version, whose kernels, overlap, loss and memory are "
                   "assumed\nwhere no option says otherwise; or a file that describes one; default: times as of the "
                   "usual one of\nthe machine, memory of tensors alone")
        ->type_name("megatron-lm|nemo-25.09|torchtitan|maxtext|..|FILE.toml");
    app.add_option("--products", train.products,
                   "dtype below 16 bits for matmuls with parameters, forward and backward; tensors are\nstored in bf16")
        ->type_name("fp8|mxfp8|nvfp4");
    app.add_option("--dispatch", train.dispatch,
                   "dtype below 16 bits in which tokens, and their gradients in the backward pass, are sent to experts")
        ->type_name("fp8|mxfp8|nvfp4");
    app.add_option("--overlap", train.overlap,
                   "axes whose collectives overlap with matmuls of other microbatches or layers (DualPipe: "
                   "expert);\nthose over data and fsdp always do; default: what the framework overlaps")
        ->type_name("expert,tensor|none");
}

void add_run(CLI::App& app, Words& words, TrainRequest& train) {
    app.add_option("--tokens", train.tokens, "tokens of the whole training run, for its duration and cost")
        ->type_name("15T");
    app.add_option("--storage", train.storage,
                   "bandwidth at which all chips together write checkpoints; with --tokens for goodput, calendar\ndays "
                   "and cost with interruptions")
        ->type_name("2TB/s");
    app.add_option("--failures", train.failures,
                   "interruptions per 1,000 chip-days, or with a unit (/chip-hour, /chip-day, /chip-year);\ndefault: "
                   "published rate of the machine")
        ->type_name("RATE");
    app.add_option("--restart", train.restart,
                   "time from an interruption until training goes on; default: 10min (arXiv 2402.15627)")
        ->type_name("10min");
    app.add_flag("--async-checkpoints", train.async_checkpoints, "training goes on while a checkpoint is written");
    app.add_option("--price", train.price, "price of a chip in USD per hour; default: list price of the machine")
        ->type_name("USD");
    repeated(app, "--set", train.sets, "what if: replace a figure of the machine, absolute or relative",
             "hbm.bandwidth=3TB/s|*2");
    app.add_option("--software", train.software,
                   "library, with or without version, whose measurements expected times are based on")
        ->type_name("nccl-2.29");
    app.add_option("--threads", words.threads, "threads that search for a plan; default: as many as cores")
        ->type_name("N");
    add_calibration(app, words);
    app.add_flag(
        "--textbook", train.textbook,
        "textbook approximation of collectives: every torus axis is a wrapped ring, without the factor (n-1)/n");
}

const Command train_command{"train", "step time, memory and cost of training a model on a slice", train_examples,
                            add_train, train_request};

}  // namespace roofline::core::cli
